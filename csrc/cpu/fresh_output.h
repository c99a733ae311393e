// New outputs. glibc maps a block above 32 MiB afresh on every call, and may have trimmed the heap under a smaller one; the
// first touches then cost a page fault per 4 KiB. Asking for huge pages before them makes that one per 2 MiB.
#pragma once

#include "cpu/arguments.h"

namespace atlas {

// empty_like(x), its memory in huge pages where that pays. For outputs an operator then writes completely.
Tensor fresh_like(const Tensor& x);

// The same advice for a tensor just made otherwise (new_empty); returns it. Nothing but speed depends on it.
Tensor in_huge_pages(Tensor fresh);

}  // namespace atlas
