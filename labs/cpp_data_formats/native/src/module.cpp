// The Python side: every reader returns an array whose memory lives as long as somebody looks at it.
#include <nanobind/nanobind.h>

#include <cerrno>

#include "bindings.hpp"
#include "buffer.hpp"
#include "error.hpp"

namespace nb = nanobind;

namespace {

void raise(const formats::FormatError& error) {
  const nb::object type = nb::module_::import_("labs.cpp_data_formats.errors").attr("FormatError");
  const auto number = [](std::int64_t value) { return value < 0 ? nb::object(nb::none()) : nb::object(nb::int_(value)); };
  const auto text = [](const std::string& bytes) {  // a file's name may hold bytes that are not UTF-8
    return nb::steal<nb::object>(PyUnicode_DecodeFSDefaultAndSize(bytes.data(), static_cast<Py_ssize_t>(bytes.size())));
  };
  nb::object value = type(text(error.what()), text(error.file), text(error.reason), number(error.line), number(error.column), number(error.byte));
  PyErr_SetObject(type.ptr(), value.ptr());
}

}  // namespace

NB_MODULE(_readers, m) {
  nb::register_exception_translator([](const std::exception_ptr& problem, void*) {
    try {
      std::rethrow_exception(problem);
    } catch (const formats::FormatError& error) {
      raise(error);
    } catch (const formats::MissingPart& missing) {
      try {
        nb::module_::import_("labs.cpp_data_formats.extension").attr("need")(missing.part);  // raises, and says how to get it
      } catch (nb::python_error& error) {
        error.restore();
      }
    } catch (const formats::SystemError& error) {
      errno = error.code;
      PyErr_SetFromErrnoWithFilename(PyExc_OSError, error.file.c_str());
    }
  });
  m.def("buffers_alive", &formats::Buffer::alive, "Blocks of memory that readers have handed out and nobody has freed yet.");
  formats::bind_csv(m);
  formats::bind_arrays(m);
  formats::bind_json(m);
  formats::bind_hdf5(m);
  formats::bind_images(m);
  formats::bind_views(m);
}
