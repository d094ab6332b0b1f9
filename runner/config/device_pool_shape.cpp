#include <optional>
#include <set>

#include "config/check/check.h"
#include "config/check/common_names.h"
#include "config/check/rules.h"

namespace ddp::config {
namespace {

constexpr const char* kExamples =
    "\"auto\" (every GPU, or two CPU ranks), 4, [0, 1], [\"cpu\", \"cpu\"] or [[0, 1], [2, 3]]";

const std::string kForms = std::string("give, for example, ") + kExamples;

// Returns the device that a text of other programs means: 1 for "cuda:1". Nothing: the text means no such device.
std::optional<Node> device_meant(const Node& item) {
  if (item.kind == Kind::integer) return item;
  const std::string text = plain_name(item.text().value_or(""));
  Node device{.kind = Kind::text, .scalar = "cpu", .key = item.key, .place = item.place};
  if (text.starts_with("cpu")) return device;
  const std::string index = text.substr(text.starts_with("cuda:") ? 5 : 0);
  const bool is_index = !index.empty() && index.size() < 5 && index.find_first_not_of("0123456789") == index.npos;
  if (!is_index) return std::nullopt;
  device.kind = Kind::integer;
  device.scalar = std::stoi(index);
  return device;
}

// Returns the pool that devices in the words of other programs mean, in front of the general remedy.
std::string forms_for(const Node& pool) {
  const std::string text = plain_name(pool.text().value_or(""));
  if (text == "cuda" || text == "gpu" || text == "gpus" || text == "all") return std::string("give ") + kExamples;
  Node meant{.kind = Kind::list, .key = pool.key, .place = pool.place};
  for (const Node& item : values_in(pool)) {
    const auto device = device_meant(item);
    if (!device) return kForms;
    meant.items.push_back(*device);
  }
  return "give " + as_setting("device_pool", meant) + "; other forms: " + kExamples;
}

// Checks a list of devices, or of groups of devices, and reports the first mistake.
class ShapeCheck {
 public:
  ShapeCheck(const Node& pool, Problems& problems) : pool_(pool), problems_(problems) {}

  void list() {
    const Node& pool = pool_;
    if (pool.items.empty()) return mistake(pool, "the list is empty");
    for (const Node& item : pool.items) {
      if (found_) return;
      if ((item.kind == Kind::list) != (pool.items[0].kind == Kind::list)) {
        return mistake(item, "the list mixes devices and groups of devices");
      }
      if (item.kind == Kind::list) {
        group(item, pool.items[0].items.size());
      } else {
        device(item);
      }
    }
  }

 private:
  void group(const Node& devices, std::size_t size) {
    if (devices.items.empty()) return mistake(devices, "the group is empty");
    if (devices.items.size() != size) return mistake(devices, "the groups must have equal sizes");
    for (const Node& item : devices.items) device(item);
  }

  void device(const Node& item) {
    if (found_) return;
    const bool is_cpu = item.text() == "cpu";
    if (!is_cpu && (item.kind != Kind::integer || item.scalar.get<std::int64_t>() < 0)) {
      return mistake(item, "a device is a GPU's index or \"cpu\", not " + shown(item), forms_for(pool_));
    }
    if (!first_) first_ = &item;
    if (is_cpu != (first_->text() == "cpu")) return mistake(item, "the pool mixes CPUs and GPUs");
    if (!is_cpu && !gpus_.insert(item.scalar.get<std::int64_t>()).second) {
      mistake(item, "GPU " + shown(item) + " is named twice");
    }
  }

  void mistake(const Node& node, const std::string& what, const std::string& remedy = kForms) {
    found_ = true;
    problems_.add(node.place, "\"device_pool\": " + what, remedy);
  }

  const Node& pool_;
  Problems& problems_;
  bool found_ = false;
  const Node* first_ = nullptr;
  std::set<std::int64_t> gpus_;
};

}  // namespace

std::string device_pool_forms() { return kForms; }

void check_device_pool(const Node& pool, Problems& problems) {
  if (pool.kind == Kind::list) return ShapeCheck(pool, problems).list();
  const bool is_auto = pool.text() == "auto";
  const bool is_count = pool.kind == Kind::integer && pool.scalar.get<std::int64_t>() >= 1;
  if (is_auto || is_count || (pool.kind != Kind::text && pool.kind != Kind::integer)) return;
  problems.add(pool.place, "\"device_pool\" must be \"auto\", a number of ranks or a list, not " + shown(pool),
               pool.text() ? forms_for(pool) : kForms);
}

}  // namespace ddp::config
