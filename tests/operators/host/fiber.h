// One thread of a block: a stack of its own, entered and left in turn.
#pragma once

#include <memory>
#include <ucontext.h>

namespace atlas::host {

class Fiber {
 public:
  // The next enter() begins `body` anew; what an abandoned body left on the stack is forgotten.
  void restart(void (*body)()) {
    getcontext(&own_);
    own_.uc_stack.ss_sp = stack_.get();
    own_.uc_stack.ss_size = stack_bytes;
    own_.uc_link = &caller_;
    makecontext(&own_, body, 0);
  }
  void enter() { swapcontext(&caller_, &own_); }
  void leave() { swapcontext(&own_, &caller_); }

 private:
  static constexpr size_t stack_bytes = 64 * 1024;
  std::unique_ptr<char[]> stack_{new char[stack_bytes]};
  ucontext_t own_{}, caller_{};
};

}  // namespace atlas::host
