// The program hdf5_helper: its standard input is a socket. A child is forked ahead for each question, answers it, and
// ends; so whatever a damaged file does to it, the next question meets a fresh one.
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "hdf5_look.hpp"

int main() {
  using namespace formats;
  constexpr int no_more = 3;  // exit status of a child that met the end of the input
  hdf5_start();
  while (true) {
    const pid_t pid = fork();
    if (pid < 0) return 1;
    if (pid == 0) {
      Message message;
      if (!receive_message(0, message)) _exit(no_more);
      hdf5_prepare_child();
      send_message(0, hdf5_look(unpacked(message)));
      _exit(0);
    }
    int status = 0;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    if (WIFEXITED(status) && WEXITSTATUS(status) == no_more) return 0;
    if (WIFSIGNALED(status) && !send_message(0, hdf5_lost_child(WTERMSIG(status)))) return 0;
  }
}
