// Runs the harness over files, each three times, where there is no libFuzzer: with the sanitizers of any compiler.
// Arguments: a byte to put in front (the choice of options; none if negative), then the files.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

int main(int count, char** words) {
  const int choice = count > 1 ? std::atoi(words[1]) : -1;
  for (int i = 2; i < count; ++i) {
    std::ifstream file(words[i], std::ios::binary);
    std::vector<char> bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    if (choice >= 0) bytes.insert(bytes.begin(), static_cast<char>(choice));
    for (int turn = 0; turn < 3; ++turn) LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
  }
  std::printf("%d files\n", count - 2);
}
