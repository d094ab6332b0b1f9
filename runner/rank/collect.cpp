#include <unistd.h>
#include <cerrno>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/file_descriptor.h"
#include "format/table.h"
#include "rank/predict.h"
#include "rank/predictions.h"
#include "rank/verbs.h"

namespace ddp::rank {
namespace {

// Writes the blocks of the ranks in order, as they are: the lines of a CSV file.
class Sink {
 public:
  explicit Sink(const CollectRequest& request) : r_(request) {}
  virtual ~Sink() = default;
  virtual void begin(const std::string& head) { write(head); }
  virtual void put(const std::string& block) { write(block); }
  virtual void end() {}

 protected:
  int out() const { return static_cast<int>(r_.out); }
  void write(const std::string& bytes) const { write_all(out(), bytes.data(), bytes.size(), r_.name); }

  const CollectRequest& r_;
};

// The header contains the number of rows, so end() writes it again, with the same length.
class NpySink final : public Sink {
 public:
  using Sink::Sink;

  void begin(const std::string& head) override {
    shape_ = config::Value::parse(head).get<std::vector<std::int64_t>>();
    length_ = (kStart + text_with(INT64_MAX).size() + 1 + 63) / 64 * 64;
    write(head_with(0));
  }
  void put(const std::string& block) override {
    write(block);
    bytes_ += static_cast<std::int64_t>(block.size());
  }
  void end() override {
    std::int64_t row_bytes = sizeof(float);
    for (const std::int64_t extent : shape_) row_bytes *= extent;
    const std::string head = head_with(row_bytes == 0 ? 0 : bytes_ / row_bytes);
    if (pwrite(out(), head.data(), head.size(), 0) != static_cast<ssize_t>(head.size())) {
      throw training_error("cannot write: " + errno_text(errno), r_.name);
    }
  }

 private:
  static constexpr std::size_t kStart = 10;  // magic number, version, and length of the dict

  std::string text_with(std::int64_t rows) const {
    std::string extents = std::to_string(rows) + ",";
    for (std::size_t i = 0; i < shape_.size(); ++i) extents += (i == 0 ? " " : ", ") + std::to_string(shape_[i]);
    return "{'descr': '<f4', 'fortran_order': False, 'shape': (" + extents + "), }";
  }
  // Returns the header of a .npy file, version 1.0.
  std::string head_with(std::int64_t rows) const {
    std::string text = text_with(rows);
    text.resize(length_ - kStart - 1, ' ');
    text += '\n';
    std::string head("\x93NUMPY\x01\x00", 8);
    head += static_cast<char>(text.size() & 0xff);
    head += static_cast<char>(text.size() >> 8);
    return head + text;
  }

  std::vector<std::int64_t> shape_;  // of a row
  std::size_t length_ = 0;           // of the head
  std::int64_t bytes_ = 0;
};

// Returns the size in bytes of `count` texts, each followed by a zero byte.
std::size_t bytes_of_texts(const std::string& block, std::size_t begin, std::int64_t count) {
  std::size_t end = begin;
  for (; count > 0; --count) end = block.find('\0', end) + 1;
  return end - begin;
}

class ParquetSink final : public Sink {
 public:
  using Sink::Sink;

  void begin(const std::string& head) override {
    columns_ = config::read_written<std::vector<format::OutputColumn>>(config::Value::parse(head));
    writer_ = format::open_table_writer(out(), columns_, r_.name);
  }
  void put(const std::string& block) override {
    std::int64_t rows = 0;
    std::memcpy(&rows, block.data(), sizeof rows);
    std::vector<const void*> cells;
    std::size_t place = sizeof rows;
    for (const format::OutputColumn& column : columns_) {
      cells.push_back(block.data() + place);
      const std::size_t bytes = column.type == format::OutputType::label
                                    ? bytes_of_texts(block, place, rows)
                                    : static_cast<std::size_t>(rows) * format::bytes_of_cell(column.type);
      place += (bytes + 7) / 8 * 8;
    }
    writer_->write(rows, cells);
  }
  void end() override { writer_->close(); }

 private:
  std::vector<format::OutputColumn> columns_;
  std::unique_ptr<format::TableWriter> writer_;
};

std::unique_ptr<Sink> make_sink(const CollectRequest& request) {
  const Form form = form_named(request.form);
  if (form == Form::npy) return std::make_unique<NpySink>(request);
  if (form == Form::parquet) return std::make_unique<ParquetSink>(request);
  return std::make_unique<Sink>(request);
}

// The blocks of one rank. The first of them can be read before its turn.
class RankBlocks {
 public:
  explicit RankBlocks(std::int64_t pipe) : pipe_(static_cast<int>(pipe)) {}

  void wait_for_first() {
    more_ = read_block(pipe_, first_);
    has_first_ = more_;
  }
  // Returns false at the end of the stream.
  bool next(std::string& block) {
    if (!std::exchange(has_first_, false)) return more_ = more_ && read_block(pipe_, block);
    block = std::move(first_);
    return true;
  }

 private:
  const int pipe_;
  std::string first_;
  bool has_first_ = false;
  bool more_ = true;
};

// Joins the blocks of the ranks in order: blocks were dealt to the ranks in turn. A rank that cannot begin, because its
// checkpoint is gone, leaves no output: writing waits for the first block of each rank.
void collect(const CollectRequest& request, const Task& t, const TakeReply&) {
  const auto sink = make_sink(request);
  std::vector<RankBlocks> ranks(request.pipes.begin(), request.pipes.end());
  std::string head;
  ranks.front().next(head);
  for (RankBlocks& rank : ranks) rank.wait_for_first();
  sink->begin(head);
  std::string block;
  for (std::size_t turn = 0; ranks[turn % ranks.size()].next(block); ++turn) {
    sink->put(block);
    t.progress->rank(t.rank).note_activity();
  }
  // After a rank without more blocks, no other rank has one: read only their end marks.
  for (RankBlocks& rank : ranks) rank.next(block);
  sink->end();
}

const bool collect_registered =
    verbs().add<CollectRequest>(CollectRequest::kVerb, "writes the predictions of the ranks", collect);

}  // namespace
}  // namespace ddp::rank
