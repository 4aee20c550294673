// A few threads for one job.
#pragma once
#include <exception>
#include <functional>
#include <system_error>
#include <thread>
#include <vector>

namespace formats {

// Call work(0) ... work(count - 1), each on a thread of its own, and wait for all. What work throws is kept, by number:
// the caller decides which matters.
inline std::vector<std::exception_ptr> in_parallel(unsigned count, const std::function<void(unsigned)>& work) {
  std::vector<std::exception_ptr> problems(count);
  const auto guarded = [&](unsigned i) {
    try {
      work(i);
    } catch (...) {
      problems[i] = std::current_exception();
    }
  };
  std::vector<std::thread> others;
  for (unsigned i = 1; i < count; ++i) {
    try {
      others.emplace_back(guarded, i);
    } catch (const std::system_error&) {
      guarded(i);  // no more threads to be had: do it here
    }
  }
  if (count) guarded(0);
  for (std::thread& thread : others) thread.join();
  return problems;
}

}  // namespace formats
