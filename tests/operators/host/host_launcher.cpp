#include "host_launcher.h"

#include <exception>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "fiber.h"

namespace atlas::host {
namespace {

constexpr int warp = 32;

enum class State { ready, at_block_barrier, at_warp_barrier, returned };

struct Thread {
  std::unique_ptr<Fiber> fiber;
  State state = State::ready;
  Place place{};
  uint32_t mask = 0;
  bool orders_memory = false;  // __syncwarp does, a shuffle does not
  unsigned exchanges = 0;
};

struct Warp {
  uint64_t values[2][warp];  // of an even and an odd exchange: a slow reader is one exchange behind at most
  uint64_t barriers = 0;
};

struct Running {
  Position position;
  int thread = 0;
  uint64_t serial = 0, block_barriers = 1;
  std::vector<Thread> threads;
  std::vector<Warp> warps;
  std::exception_ptr fault;
  const std::function<void()>* body = nullptr;
};
thread_local Running running;

Thread& self() {
  return running.threads[running.thread];
}

std::string text(Place place) {
  const std::string file = place.file;
  return file.substr(file.rfind('/') + 1) + ":" + std::to_string(place.line);
}

std::string where(const Thread& thread) {
  return thread.state == State::returned ? "has returned" : "waits at " + text(thread.place);
}

void wait(State state, uint32_t mask, Place place, bool orders_memory) {
  Thread& thread = self();
  thread.state = state;
  thread.orders_memory = orders_memory;
  thread.mask = mask;
  thread.place = place;
  thread.fiber->leave();
}

void body_of_a_thread() {
  try {
    (*running.body)();
  } catch (...) {
    running.fault = std::current_exception();
  }
  self().state = State::returned;
}

void run_thread(int index) {
  const dim3 size = running.position.threads;
  const unsigned i = static_cast<unsigned>(index);
  running.thread = index;
  running.position.thread = dim3(i % size.x, i / size.x % size.y, i / (size.x * size.y));
  self().fiber->enter();
  if (running.fault) {
    std::rethrow_exception(running.fault);
  }
}

// Lets a waiting warp go on when every lane its mask names stands at the same place; false when none waits.
bool release_warp(int first, int lanes) {
  int waiting = -1;
  for (int i = first; i < first + lanes && waiting < 0; ++i) {
    waiting = running.threads[i].state == State::at_warp_barrier ? i : -1;
  }
  if (waiting < 0) {
    return false;
  }
  const Thread& one = running.threads[waiting];
  for (int i = 0; i < warp; ++i) {
    const bool named = one.mask >> i & 1;
    const Thread* other = i < lanes ? &running.threads[first + i] : nullptr;
    const bool there = other && other->state == State::at_warp_barrier && other->place.line == one.place.line &&
        other->place.file == one.place.file && other->mask == one.mask;
    if (named != there) {
      fail("warp diverged: lane " + std::to_string(waiting - first) + " waits at " + text(one.place) + " for lane " +
           std::to_string(i) + ", which " + (other ? where(*other) : "does not exist"));
    }
  }
  const uint32_t named = one.mask;
  running.warps[first / warp].barriers += one.orders_memory;
  for (int i = 0; i < lanes; ++i) {
    running.threads[first + i].state = named >> i & 1 ? State::ready : running.threads[first + i].state;
  }
  return true;
}

// Every thread of the warp up to a barrier of the block or to its end.
void run_warp(int first, int lanes, bool backwards) {
  do {
    for (int i = 0; i < lanes; ++i) {
      const int index = first + (backwards ? lanes - 1 - i : i);
      if (running.threads[index].state == State::ready) {
        run_thread(index);
      }
    }
  } while (release_warp(first, lanes));
}

// Lets the block go on when all its threads stand at the same barrier; false when all have returned.
bool release_block() {
  const Thread& first = running.threads.front();
  for (size_t i = 0; i < running.threads.size(); ++i) {
    const Thread& thread = running.threads[i];
    if (thread.state != first.state || (thread.state != State::returned &&
        (thread.place.line != first.place.line || thread.place.file != first.place.file))) {
      fail("barrier divergence: thread 0 " + where(first) + ", thread " + std::to_string(i) + " " + where(thread));
    }
  }
  if (first.state == State::returned) {
    return false;
  }
  for (Thread& thread : running.threads) {
    thread.state = State::ready;
  }
  ++running.block_barriers;
  return true;
}

void run_block(bool backwards) {
  const int count = static_cast<int>(running.threads.size());
  ++running.serial;
  for (Thread& thread : running.threads) {
    thread.state = State::ready;
    thread.exchanges = 0;
    thread.fiber->restart(body_of_a_thread);
  }
  do {
    for (int first = 0; first < count; first += warp) {
      const int start = backwards ? (count - 1) / warp * warp - first : first;
      run_warp(start, std::min(warp, count - start), backwards);
    }
  } while (release_block());
  ++running.block_barriers;
}

}  // namespace

void fail(const std::string& what) {
  throw std::runtime_error(what);
}

const Position& position() {
  return running.position;
}

int lane() {
  return running.thread % warp;
}

uint64_t block_serial() {
  return running.serial;
}

Access this_access() {
  const int w = running.thread / warp;
  return {running.block_barriers, running.warps[w].barriers, running.thread, w};
}

void block_barrier(Place place) {
  wait(State::at_block_barrier, 0, place, true);
}

void warp_barrier(uint32_t mask, Place place) {
  wait(State::at_warp_barrier, mask, place, true);
}

uint64_t exchange(uint32_t mask, uint64_t value, int source, Place place) {
  auto& slots = running.warps[running.thread / warp].values[self().exchanges++ % 2];
  slots[lane()] = value;
  wait(State::at_warp_barrier, mask, place, false);
  if (source < 0 || source >= warp) {
    return value;
  }
  if (!(mask >> source & 1)) {
    fail("shuffle at " + text(place) + " reads lane " + std::to_string(source) + ", which its mask leaves out");
  }
  return slots[source];
}

void run_grid(dim3 blocks, dim3 threads, const std::function<void()>& body) {
  const size_t count = static_cast<size_t>(threads.x) * threads.y * threads.z;
  const bool accepted = count > 0 && count <= 1024 && blocks.x > 0 && blocks.x <= 2147483647u && blocks.y > 0 &&
      blocks.y <= 65535 && blocks.z > 0 && blocks.z <= 65535;
  if (!accepted) {
    fail("a grid no GPU accepts: " + std::to_string(count) + " threads a block, grid " + std::to_string(blocks.x) +
         " x " + std::to_string(blocks.y) + " x " + std::to_string(blocks.z));
  }
  running.threads.resize(count);
  running.warps.assign((count + warp - 1) / warp, Warp{});
  for (Thread& thread : running.threads) {
    if (!thread.fiber) {
      thread.fiber = std::make_unique<Fiber>();
    }
  }
  running.fault = nullptr;
  running.body = &body;
  running.position.blocks = blocks;
  running.position.threads = threads;
  for (unsigned z = 0; z < blocks.z; ++z) {
    for (unsigned y = 0; y < blocks.y; ++y) {
      for (unsigned x = 0; x < blocks.x; ++x) {
        running.position.block = dim3(x, y, z);
        run_block((x + y + z) % 2 != 0);  // a kernel may not depend on the order of its threads
      }
    }
  }
}

}  // namespace atlas::host
