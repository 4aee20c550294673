// What the HDF5 library says about a dataset: its type and shape, and where its numbers are.
#include "hdf5_look.hpp"

#include <hdf5.h>

#include <algorithm>

#include "error.hpp"

namespace formats {
namespace {

struct Refusal {
  std::string reason;
};

struct Closer {
  hid_t id;
  herr_t (*close)(hid_t);
  ~Closer() {
    if (id >= 0) close(id);
  }
};

// The innermost description on the library's stack of errors.
std::string library_says() {
  std::string text;
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, [](unsigned, const H5E_error2_t* error, void* out) -> herr_t {
    auto& result = *static_cast<std::string*>(out);
    if (result.empty() && error->desc) result = error->desc;
    return 0;
  }, &text);
  return text.empty() ? "no reason given" : text;
}

template <class T>
T good(T value, const char* what) {
  if (value < 0) throw Refusal{std::string(what) + ": " + library_says()};
  return value;
}

std::string members(hid_t group) {
  std::string names;
  H5G_info_t info;
  if (H5Gget_info(group, &info) < 0) return "";
  for (hsize_t i = 0; i < info.nlinks && i < 8; ++i) {
    char name[64];
    if (H5Lget_name_by_idx(group, ".", H5_INDEX_NAME, H5_ITER_INC, i, name, sizeof name, H5P_DEFAULT) >= 0) names += (names.empty() ? "" : ", ") + shown(name);
  }
  return (names.empty() ? "nothing" : names) + (info.nlinks > 8 ? ", ..." : "");
}

hid_t open_dataset(hid_t file, const std::string& path) {
  // Step by step, so that the message can say where the path ends.
  std::string so_far;
  for (std::size_t at = 0; at < path.size();) {
    const std::size_t slash = std::min(path.find('/', at), path.size());
    const std::string part = path.substr(at, slash - at);
    at = slash + 1;
    if (part.empty()) continue;
    const std::string parent = so_far.empty() ? "/" : so_far;
    if (H5Lexists(file, (so_far + "/" + part).c_str(), H5P_DEFAULT) <= 0) {
      const Closer group{H5Gopen2(file, parent.c_str(), H5P_DEFAULT), H5Gclose};
      throw Refusal{"there is no dataset " + shown(path) + ": " + shown(parent) + (group.id < 0 ? " is no group" : " holds " + members(group.id))};
    }
    H5L_info_t link;
    if (H5Lget_info(file, (so_far + "/" + part).c_str(), &link, H5P_DEFAULT) >= 0 && link.type != H5L_TYPE_HARD && link.type != H5L_TYPE_SOFT)
      throw Refusal{shown(so_far + "/" + part) + " is a link to another file, which is not followed"};
    so_far += "/" + part;
  }
  H5O_info_t info;
  good(H5Oget_info_by_name(file, path.c_str(), &info, H5P_DEFAULT), "cannot look at the dataset");
  if (info.type != H5O_TYPE_DATASET) throw Refusal{shown(path) + " is a group, not a dataset: expected numbers"};
  return good(H5Dopen2(file, path.c_str(), H5P_DEFAULT), "cannot open the dataset");
}

void put_type(Message& answer, hid_t type) {
  const H5T_class_t kind = H5Tget_class(type);
  if (kind != H5T_FLOAT && kind != H5T_INTEGER) {
    const char* found = kind == H5T_STRING ? (H5Tis_variable_str(type) > 0 ? "strings of varying length" : "strings of fixed length")
                        : kind == H5T_COMPOUND ? "records with fields (complex numbers are stored so, too)"
                        : kind == H5T_ENUM     ? "an enumeration (truth values are stored so by h5py)"
                        : kind == H5T_VLEN     ? "lists of varying length"
                                               : "something else";
    throw Refusal{std::string("the dataset holds ") + found + ": expected integers or floats"};
  }
  const std::size_t bytes = H5Tget_size(type);
  const H5T_order_t order = H5Tget_order(type);
  bool plain = (order == H5T_ORDER_LE || order == H5T_ORDER_BE) && H5Tget_precision(type) == 8 * bytes && H5Tget_offset(type) == 0;
  if (kind == H5T_FLOAT) {
    std::size_t sign, exponent_at, exponent, mantissa_at, mantissa;
    plain = plain && H5Tget_fields(type, &sign, &exponent_at, &exponent, &mantissa_at, &mantissa) >= 0 && sign == 8 * bytes - 1 && mantissa_at == 0 && exponent_at == mantissa &&
            ((bytes == 8 && exponent == 11) || (bytes == 4 && exponent == 8) || (bytes == 2 && exponent == 5)) && mantissa == 8 * bytes - 1 - exponent && H5Tget_norm(type) == H5T_NORM_IMPLIED && H5Tget_ebias(type) == (std::size_t{1} << (exponent - 1)) - 1;
  } else {
    plain = plain && (bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8);
  }
  if (!plain) throw Refusal{"numbers of " + counted(bytes, "byte") + " in an unusual form: expected IEEE floats of 2, 4, 8 bytes or integers of 1, 2, 4, 8"};
  answer.put<char>(kind == H5T_FLOAT ? 'f' : H5Tget_sign(type) == H5T_SGN_NONE ? 'u' : 'i');
  answer.put<std::uint64_t>(bytes);
  answer.put<bool>(order == H5T_ORDER_BE);
}

void put_filters(Message& answer, hid_t plist) {
  std::vector<Filter> filters;
  const int count = good(H5Pget_nfilters(plist), "cannot read the filters");
  for (int i = 0; i < count; ++i) {
    unsigned flags, config;
    std::size_t parameters = 0;
    char name[64] = "";
    const H5Z_filter_t filter = H5Pget_filter2(plist, static_cast<unsigned>(i), &flags, &parameters, nullptr, sizeof name, name, &config);
    if (filter != H5Z_FILTER_DEFLATE && filter != H5Z_FILTER_SHUFFLE && filter != H5Z_FILTER_FLETCHER32)
      throw Refusal{"compressed by the filter " + shown(name[0] ? name : std::to_string(filter).c_str()) + ": expected gzip, shuffle or fletcher32"};
    filters.push_back(static_cast<Filter>(filter));
  }
  answer.put_all(filters);
}

// The chunks that [start, stop) touches, corner by corner: asking by number would search from the front each time.
void put_chunks(Message& answer, hid_t dataset, const std::vector<hsize_t>& shape, const std::vector<hsize_t>& chunk, const std::vector<std::uint64_t>& start, const std::vector<std::uint64_t>& stop, std::uint64_t base) {
  Message found;
  std::uint64_t count = 0;
  bool empty = false;
  std::vector<hsize_t> corner(shape.size());
  for (std::size_t a = 0; a < shape.size(); ++a) {
    corner[a] = start[a] / chunk[a] * chunk[a];
    empty = empty || start[a] >= stop[a];
  }
  std::uint64_t asked = 0;
  while (!empty) {
    if (++asked > 5000000) throw Refusal{"more than 5 million chunks: read a part"};
    unsigned skipped = 0;
    haddr_t address = HADDR_UNDEF;
    hsize_t stored = 0;
    good(H5Dget_chunk_info_by_coord(dataset, corner.data(), &skipped, &address, &stored), "cannot find a chunk");
    if (address != HADDR_UNDEF) {
      found.put_all(std::vector<std::uint64_t>(corner.begin(), corner.end()));
      found.put<std::uint64_t>(address + base);
      found.put<std::uint64_t>(stored);
      found.put<std::uint32_t>(skipped);
      ++count;
    }
    std::size_t a = shape.size();
    while (a-- > 0) {
      corner[a] += chunk[a];
      if (corner[a] < stop[a]) break;
      corner[a] = start[a] / chunk[a] * chunk[a];
    }
    if (a == static_cast<std::size_t>(-1)) break;
  }
  answer.put(count);
  answer.bytes.insert(answer.bytes.end(), found.bytes.begin(), found.bytes.end());
}

Message describe(const Question& question) {
  const Box& box = question.box;
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
  Message answer;
  answer.put<bool>(true);
  const Closer file{H5Fopen(question.path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), H5Fclose};
  if (file.id < 0) {
    const std::string reason = library_says();
    throw Refusal{(reason.find("lock") != reason.npos ? "another program has the file open for writing: " : "not an HDF5 file, or a damaged one: ") + reason};
  }
  const Closer dataset{open_dataset(file.id, question.dataset), H5Dclose};
  const Closer type{good(H5Dget_type(dataset.id), "cannot read the type"), H5Tclose};
  put_type(answer, type.id);

  const Closer plist{good(H5Dget_create_plist(dataset.id), "cannot read how it is stored"), H5Pclose};
  const H5D_layout_t layout = good(H5Pget_layout(plist.id), "cannot read how it is stored");
  const Closer space{good(H5Dget_space(dataset.id), "cannot read the shape"), H5Sclose};
  if (H5Sget_simple_extent_type(space.id) == H5S_NULL) throw Refusal{"the dataset holds nothing at all (a null dataspace)"};
  const int axes = good(H5Sget_simple_extent_ndims(space.id), "cannot read the shape");
  std::vector<hsize_t> shape(static_cast<std::size_t>(axes));
  good(H5Sget_simple_extent_dims(space.id, shape.data(), nullptr), "cannot read the shape");
  std::uint64_t wanted = H5Tget_size(type.id);  // bytes of the whole dataset
  for (const hsize_t length : shape) {
    if (length > std::uint64_t{1} << 62) throw Refusal{"an axis of more than 2^62: the file is damaged"};
    if (layout != H5D_CHUNKED) wanted = times(wanted, length);
  }
  answer.put_all(std::vector<std::uint64_t>(shape.begin(), shape.end()));
  if (box.start.size() > shape.size()) throw Refusal{"the dataset has " + std::to_string(shape.size()) + (shape.size() == 1 ? " axis" : " axes") + ": expected at least " + std::to_string(box.start.size())};
  std::vector<std::uint64_t> start(shape.size(), 0), stop(shape.begin(), shape.end());
  for (std::size_t a = 0; a < box.start.size(); ++a) {
    stop[a] = std::min<std::uint64_t>(box.stop[a], shape[a]);
    start[a] = std::min<std::uint64_t>(box.start[a], stop[a]);
  }

  if (H5Pget_external_count(plist.id) > 0 || layout == H5D_VIRTUAL) throw Refusal{"the numbers are kept in other files, which are not followed"};
  const std::size_t bytes = H5Tget_size(type.id);
  H5D_fill_value_t defined = H5D_FILL_VALUE_UNDEFINED;
  H5Pfill_value_defined(plist.id, &defined);
  std::vector<std::uint8_t> fill(bytes, 0);
  if (defined == H5D_FILL_VALUE_USER_DEFINED) good(H5Pget_fill_value(plist.id, type.id, fill.data()), "cannot read the fill value");
  answer.put_all(fill);
  answer.put<bool>(H5Aexists(dataset.id, "MATLAB_class") > 0);

  if (layout == H5D_CONTIGUOUS) {
    const haddr_t address = H5Dget_offset(dataset.id);
    answer.put(Layout::Kind::contiguous);
    answer.put<bool>(address != HADDR_UNDEF);
    answer.put<std::uint64_t>(address);
    const std::uint64_t stored = H5Dget_storage_size(dataset.id);
    if (address != HADDR_UNDEF && stored != wanted) throw Refusal{"the stored size does not fit the shape: the file is damaged"};
  } else if (layout == H5D_COMPACT) {
    const std::uint64_t stored = H5Dget_storage_size(dataset.id);
    if (wanted > (1 << 16) || (stored != wanted && stored != 0)) throw Refusal{"the stored size does not fit the shape: the file is damaged"};
    std::vector<std::uint8_t> data(wanted);
    if (wanted) good(H5Dread(dataset.id, type.id, H5S_ALL, H5S_ALL, H5P_DEFAULT, data.data()), "cannot read the numbers");
    answer.put(Layout::Kind::compact);
    answer.put_all(data);
  } else {
    std::vector<hsize_t> chunk(shape.size());
    if (good(H5Pget_chunk(plist.id, axes, chunk.data()), "cannot read the chunks") != axes) throw Refusal{"the chunks have another number of axes than the dataset"};
    for (const hsize_t length : chunk)
      if (!length) throw Refusal{"a chunk of length 0: the file is damaged"};
    answer.put(Layout::Kind::chunked);
    answer.put_all(std::vector<std::uint64_t>(chunk.begin(), chunk.end()));
    put_filters(answer, plist.id);
    const Closer creation{good(H5Fget_create_plist(file.id), "cannot read the file's head"), H5Pclose};
    hsize_t base = 0;
    good(H5Pget_userblock(creation.id, &base), "cannot read the file's head");
    put_chunks(answer, dataset.id, shape, chunk, start, stop, base);
  }
  return answer;
}

}  // namespace

void hdf5_start() { H5open(); }

Message hdf5_refusal(const std::string& reason) {
  Message answer;
  answer.put<bool>(false);
  answer.put_text(reason);
  return answer;
}

Message hdf5_look(const Question& question) {
  try {
    return describe(question);
  } catch (const Refusal& refusal) {
    return hdf5_refusal(refusal.reason);
  } catch (...) {
    return hdf5_refusal("the file's structure needs more memory than there is: it is probably damaged");
  }
}

}  // namespace formats
