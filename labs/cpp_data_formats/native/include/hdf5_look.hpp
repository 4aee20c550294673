// Asking the HDF5 library about a dataset: in this process, in a forked child, or through a helper that stays.
//
// Damaged files can make the library crash, or run forever. So it looks at each file in a child process that is lost
// then, and a fresh one looks at the next file. Forking a process as large as a notebook with torch takes 10 to 20 ms
// (its page tables are copied), so a small program is started once, and forks itself ahead for each file.
#pragma once
#include <optional>
#include <string>

#include "hdf5.hpp"
#include "message.hpp"

namespace formats {

struct Question {
  std::string path, dataset;
  Box box;  // whose chunks are wanted
};

// An answer starts with whether there is one: true and the parts of a Layout, or false and the reason.
Message hdf5_refusal(const std::string& reason);

void hdf5_start();                             // the library's own preparations, so that a forked child finds them done
Message hdf5_look(const Question& question);   // in this process
Message hdf5_look_in_child(const Question& question);         // in a forked child: a crash, or a minute, is a refusal
void hdf5_prepare_child();                     // in such a child: no foreign signal handlers, a minute to live
Message hdf5_lost_child(int signal);           // the refusal when a signal has ended it
std::optional<Message> hdf5_ask_helper(const Question& question);  // none: there is no helper, or it was lost
Message hdf5_look_from_outside(const Question& question);     // by the helper; without one, in a forked child

// Whole messages over a socket. False when the other end has gone.
bool send_message(int socket, const Message& message);
bool receive_message(int socket, Message& message);

Message packed(const Question& question);
Question unpacked(Message& message);

}  // namespace formats
