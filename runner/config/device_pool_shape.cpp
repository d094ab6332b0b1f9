#include <set>

#include "config/check/rules.h"

namespace ddp::config {
namespace {

constexpr const char* kForms =
    "give, for example, \"auto\" (every GPU, or two CPU ranks), 4, [0, 1], [\"cpu\", \"cpu\"] or [[0, 1], [2, 3]]";

// Checks a list of devices, or of groups of devices, and reports the first mistake.
class ShapeCheck {
 public:
  explicit ShapeCheck(Problems& problems) : problems_(problems) {}

  void list(const Node& pool) {
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
      return mistake(item, "a device is a GPU's index or \"cpu\", not " + shown(item));
    }
    if (!first_) first_ = &item;
    if (is_cpu != (first_->text() == "cpu")) return mistake(item, "the pool mixes CPUs and GPUs");
    if (!is_cpu && !gpus_.insert(item.scalar.get<std::int64_t>()).second) {
      mistake(item, "GPU " + shown(item) + " is named twice");
    }
  }

  void mistake(const Node& node, const std::string& what) {
    found_ = true;
    problems_.add(node.place, "\"device_pool\": " + what, kForms);
  }

  Problems& problems_;
  bool found_ = false;
  const Node* first_ = nullptr;
  std::set<std::int64_t> gpus_;
};

}  // namespace

void check_device_pool(const Node& pool, Problems& problems) {
  if (pool.kind == Kind::list) return ShapeCheck(problems).list(pool);
  const bool is_auto = pool.text() == "auto";
  const bool is_count = pool.kind == Kind::integer && pool.scalar.get<std::int64_t>() >= 1;
  if (is_auto || is_count || (pool.kind != Kind::text && pool.kind != Kind::integer)) return;
  problems.add(pool.place, "\"device_pool\" must be \"auto\", a number of ranks or a list, not " + shown(pool), kForms);
}

}  // namespace ddp::config
