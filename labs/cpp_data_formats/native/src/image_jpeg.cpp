// JPEG through libjpeg (libjpeg-turbo on most systems), with its warnings taken for errors: "premature end of file" would
// otherwise fill the rest of the picture with grey.
#include <csetjmp>
#include <cstddef>
#include <cstdio>
#include <new>

#include <jpeglib.h>

#include "error.hpp"
#include "image.hpp"

namespace formats {
namespace {

struct Trouble {
  jpeg_error_mgr manager;  // first, so that libjpeg's pointer to it is one to us
  std::jmp_buf back;
  char text[JMSG_LENGTH_MAX];
};

void stop(j_common_ptr info) {
  auto* trouble = reinterpret_cast<Trouble*>(info->err);
  info->err->format_message(info, trouble->text);
  std::longjmp(trouble->back, 1);
}

void warn(j_common_ptr info, int level) {
  if (level < 0) stop(info);
}

// Whatever lives across a longjmp must not need a destructor: the C part stands alone and works on plain memory.
struct Job {
  jpeg_decompress_struct info;
  Trouble trouble;
};

bool start(Job& job, const unsigned char* data, std::size_t size) {
  if (setjmp(job.trouble.back)) return false;
  jpeg_mem_src(&job.info, data, static_cast<unsigned long>(size));
  jpeg_read_header(&job.info, TRUE);
  job.info.out_color_space = job.info.jpeg_color_space == JCS_GRAYSCALE ? JCS_GRAYSCALE : JCS_RGB;
  jpeg_calc_output_dimensions(&job.info);
  return true;
}

bool decode(Job& job, unsigned char* target, std::size_t row_bytes) {
  if (setjmp(job.trouble.back)) return false;
  jpeg_start_decompress(&job.info);
  while (job.info.output_scanline < job.info.output_height) {
    unsigned char* row = target + job.info.output_scanline * row_bytes;
    jpeg_read_scanlines(&job.info, &row, 1);
  }
  jpeg_finish_decompress(&job.info);
  return true;
}

class Decoder {
 public:
  Decoder() {
    job_.info.err = jpeg_std_error(&job_.trouble.manager);
    job_.trouble.manager.error_exit = stop;
    job_.trouble.manager.emit_message = warn;
    job_.trouble.text[0] = '\0';
    if (setjmp(job_.trouble.back)) throw std::bad_alloc();
    jpeg_create_decompress(&job_.info);
    job_.info.mem->max_memory_to_use = 1L << 30;
  }
  ~Decoder() { jpeg_destroy_decompress(&job_.info); }
  Decoder(const Decoder&) = delete;
  Decoder& operator=(const Decoder&) = delete;
  Job& job() { return job_; }

 private:
  Job job_{};
};

}  // namespace

Array read_jpeg(const File& file) {
  const Content bytes = file.all();
  Decoder decoder;
  Job& job = decoder.job();
  const auto fail = [&]() { throw FormatError(file.name(), std::string("not a whole JPEG picture: ") + job.trouble.text); };
  if (!start(job, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size())) fail();
  if (job.info.jpeg_color_space == JCS_CMYK || job.info.jpeg_color_space == JCS_YCCK) throw FormatError(file.name(), "a JPEG picture for print (CMYK): expected grey or colour for screens");
  const std::size_t width = job.info.output_width, height = job.info.output_height;
  const std::size_t channels = job.info.out_color_space == JCS_GRAYSCALE ? 1 : 3;
  // Each block of 8 x 8 pixels takes at least one bit: a picture that promises more is not one.
  if (times(width, height) / 64 / 8 > bytes.size() + 64) throw FormatError(file.name(), "the file is truncated: too little is there for " + std::to_string(width) + " x " + std::to_string(height) + " pixels");
  Array image = new_image(file, height, width, channels, 1);
  if (!decode(job, image.values.data<unsigned char>(), width * channels)) fail();
  return image;
}

}  // namespace formats
