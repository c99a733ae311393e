"""Derivatives of derivatives: orders 1 to 4, Jacobian and Hessian, Hessian-vector products, the largest eigenvalue."""
