// The small program that looks at files for this process: started when it is first needed, and gone with this process.
#include <dlfcn.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

#include "hdf5_look.hpp"

extern char** environ;

namespace formats {
namespace {

struct Helper {
  pid_t owner = 0, pid = 0;  // the process that started it, and its own number
  int socket = -1;
  ino_t inode = 0;  // of the socket: a program that closes all files of a process also closes this one

  bool connected() const {
    struct stat facts {};
    return socket >= 0 && !fstat(socket, &facts) && S_ISSOCK(facts.st_mode) && facts.st_ino == inode;
  }
  // The helper sees the end of its input, also when a fork of this process still holds the socket, and ends.
  void leave() {
    if (owner == getpid()) {
      if (connected()) shutdown(socket, SHUT_RDWR);
      else kill(pid, SIGKILL);
      while (waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
      }
    }
    if (connected()) close(socket);  // what a fork has inherited belongs to the parent: only this end is closed
    owner = pid = 0;
    socket = -1;
  }
  ~Helper() { leave(); }
};

// The program beside the module that holds this code; empty where it was not built.
std::string program() {
  Dl_info found;
  if (!dladdr(reinterpret_cast<const void*>(&program), &found) || !found.dli_fname) return "";
  const std::string module = found.dli_fname;
  const std::size_t slash = module.rfind('/');
  const std::string path = slash == module.npos ? "" : module.substr(0, slash) + "/hdf5_helper";
  return path.empty() || access(path.c_str(), X_OK) ? "" : path;
}

bool start(Helper& helper) {
  const std::string path = program();
  int ends[2];
  if (path.empty() || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends)) return false;
  posix_spawn_file_actions_t files;
  posix_spawnattr_t how;
  posix_spawn_file_actions_init(&files);
  posix_spawnattr_init(&how);
  posix_spawn_file_actions_adddup2(&files, ends[1], 0);
  for (const int output : {1, 2}) posix_spawn_file_actions_addopen(&files, output, "/dev/null", O_WRONLY, 0);
  sigset_t none, usual;
  sigemptyset(&none);
  sigfillset(&usual);
  posix_spawnattr_setsigmask(&how, &none);
  posix_spawnattr_setsigdefault(&how, &usual);
  posix_spawnattr_setpgroup(&how, 0);  // Ctrl-C in a terminal is not meant for it
  posix_spawnattr_setflags(&how, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
  char* words[] = {const_cast<char*>(path.c_str()), nullptr};
  pid_t pid = 0;
  const int problem = posix_spawn(&pid, path.c_str(), &files, &how, words, environ);
  posix_spawnattr_destroy(&how);
  posix_spawn_file_actions_destroy(&files);
  close(ends[1]);
  struct stat facts {};
  if (problem || fstat(ends[0], &facts)) {
    close(ends[0]);
    return false;
  }
  helper.owner = getpid();
  helper.pid = pid;
  helper.socket = ends[0];
  helper.inode = facts.st_ino;
  return true;
}

bool all(int socket, char* bytes, std::size_t count, bool sending) {
  for (std::size_t done = 0; done < count;) {
    const ssize_t moved = sending ? ::send(socket, bytes + done, count - done, MSG_NOSIGNAL) : ::recv(socket, bytes + done, count - done, 0);
    if (moved < 0 && errno == EINTR) continue;
    if (moved <= 0) return false;
    done += static_cast<std::size_t>(moved);
  }
  return true;
}

}  // namespace

bool send_message(int socket, const Message& message) {
  std::uint64_t size = message.bytes.size();
  return all(socket, reinterpret_cast<char*>(&size), sizeof size, true) && all(socket, const_cast<char*>(message.bytes.data()), size, true);
}

bool receive_message(int socket, Message& message) {
  std::uint64_t size = 0;
  if (!all(socket, reinterpret_cast<char*>(&size), sizeof size, false)) return false;
  message.bytes.resize(size);
  message.next = 0;
  return all(socket, message.bytes.data(), size, false);
}

Message packed(const Question& question) {
  Message message;
  message.put_text(question.path);
  message.put_text(question.dataset);
  message.put_all(question.box.start);
  message.put_all(question.box.stop);
  return message;
}

Question unpacked(Message& message) {
  Question question;
  question.path = message.take_text();
  question.dataset = message.take_text();
  question.box.start = message.take_all<std::size_t>();
  question.box.stop = message.take_all<std::size_t>();
  return question;
}

std::optional<Message> hdf5_ask_helper(const Question& question) {
  static Helper helper;  // the caller lets in one thread at a time
  if (!helper.connected() || helper.owner != getpid()) {
    helper.leave();
    if (!start(helper)) return std::nullopt;
  }
  Message answer;
  if (send_message(helper.socket, packed(question)) && receive_message(helper.socket, answer)) return answer;
  helper.leave();
  return std::nullopt;
}

Message hdf5_look_from_outside(const Question& question) {
  if (std::optional<Message> answer = hdf5_ask_helper(question)) return std::move(*answer);
  return hdf5_look_in_child(question);
}

}  // namespace formats
