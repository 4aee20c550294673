// Looking at a file in a forked child, which may crash.
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>

#include "hdf5_look.hpp"

namespace formats {
namespace {

constexpr int patience = 60;  // seconds until a child that does not answer is given up

[[noreturn]] void child(int pipe, const Question& question) {
  hdf5_prepare_child();
  const Message answer = hdf5_look(question);
  for (std::size_t done = 0; done < answer.bytes.size();) {
    const ssize_t sent = ::write(pipe, answer.bytes.data() + done, answer.bytes.size() - done);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) break;
    done += static_cast<std::size_t>(sent);
  }
  _exit(0);  // nothing of the parent's is cleaned up here
}

}  // namespace

void hdf5_prepare_child() {
  for (const int number : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGALRM}) std::signal(number, SIG_DFL);  // no foreign handlers
  const rlimit no_core{0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  alarm(patience);
}

Message hdf5_lost_child(int signal) {
  if (signal == SIGALRM)
    return hdf5_refusal("the HDF5 library did not come to an end with this file in " + std::to_string(patience) + " s: it is damaged");
  return hdf5_refusal("the HDF5 library crashed on this file (signal " + std::to_string(signal) + "): it is damaged");
}

Message hdf5_look_in_child(const Question& question) {
  hdf5_start();
  int ends[2];
  if (pipe2(ends, O_CLOEXEC)) return hdf5_refusal(std::string("no pipe to a child process: ") + std::strerror(errno));
  const pid_t pid = fork();
  if (pid < 0) {
    const int code = errno;
    close(ends[0]);
    close(ends[1]);
    return hdf5_refusal(std::string("no child process can be started to look at the file (isolated=False does without): ") + std::strerror(code));
  }
  if (pid == 0) child(ends[1], question);
  close(ends[1]);
  Message answer;
  char block[1 << 14];
  while (true) {
    const ssize_t got = ::read(ends[0], block, sizeof block);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    answer.bytes.insert(answer.bytes.end(), block, block + got);
  }
  close(ends[0]);
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFSIGNALED(status)) return hdf5_lost_child(WTERMSIG(status));
  if (answer.bytes.empty()) return hdf5_refusal("the HDF5 library gave no answer about this file");
  return answer;
}

}  // namespace formats
