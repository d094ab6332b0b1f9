#include "base/text_date.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/text_number.h"

namespace ddp {
namespace {

constexpr std::array<std::string_view, 12> kMonths = {"January",   "February", "March",    "April",
                                                      "May",       "June",     "July",     "August",
                                                      "September", "October",  "November", "December"};
constexpr std::array<std::string_view, 7> kWeekdays = {"Monday", "Tuesday",  "Wednesday", "Thursday",
                                                       "Friday", "Saturday", "Sunday"};
constexpr std::size_t kShort = 3;  // letters of a short name
constexpr double kSecondsOfDay = 86400;

// Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms": days since 1970-01-01 of a day in the Gregorian
// calendar.
std::int64_t days_from(std::int64_t year, int month, int day) {
  year -= month <= 2;
  const std::int64_t era = (year >= 0 ? year : year - 399) / 400;
  const std::int64_t of_era = year - era * 400;
  const std::int64_t of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
  return era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719468;
}

bool is_leap(std::int64_t year) { return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0); }

int days_of_month(std::int64_t year, int month) {
  constexpr std::array<int, 12> kDays = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  return month == 2 && is_leap(year) ? 29 : kDays[static_cast<std::size_t>(month) - 1];
}

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

// A text that is read from its front.
class Reader {
 public:
  explicit Reader(std::string_view text) : rest_(text) {}

  bool at_end() const { return rest_.empty(); }
  bool next_is(char c) const { return !rest_.empty() && rest_.front() == c; }
  bool take(char c) {
    if (!next_is(c)) return false;
    rest_.remove_prefix(1);
    return true;
  }
  // Takes from `least` to `most` digits.
  bool take_number(std::size_t least, std::size_t most, int& number) {
    std::size_t digits = 0;
    number = 0;
    for (; digits < most && digits < rest_.size() && rest_[digits] >= '0' && rest_[digits] <= '9'; ++digits) {
      number = number * 10 + (rest_[digits] - '0');
    }
    if (digits < least) return false;
    rest_.remove_prefix(digits);
    return true;
  }
  // Takes digits behind a point.
  bool take_fraction(double& fraction) {
    std::size_t digits = 0;
    double unit = 1;
    fraction = 0;
    for (; digits < rest_.size() && rest_[digits] >= '0' && rest_[digits] <= '9'; ++digits) {
      unit /= 10;
      fraction += (rest_[digits] - '0') * unit;
    }
    rest_.remove_prefix(digits);
    return digits > 0;
  }
  // Takes the place of a name, whole or short, in letters of any case.
  template <std::size_t size>
  bool take_name(const std::array<std::string_view, size>& names, bool is_short, int& place) {
    for (place = 0; place < static_cast<int>(size); ++place) {
      const std::string_view name =
          names[static_cast<std::size_t>(place)].substr(0, is_short ? kShort : std::string_view::npos);
      if (!begins_with(name)) continue;
      rest_.remove_prefix(name.size());
      return true;
    }
    return false;
  }
  bool begins_with(std::string_view name) const {
    if (rest_.size() < name.size()) return false;
    for (std::size_t i = 0; i < name.size(); ++i) {
      if (lower(rest_[i]) != lower(name[i])) return false;
    }
    return true;
  }
  // Takes "Z", "+01:00", "+0100" or "+01".
  bool take_offset(double& seconds) {
    seconds = 0;
    if (take('Z')) return true;
    const bool is_negative = next_is('-');
    int hours = 0, minutes = 0;
    if (!take('-') && !take('+')) return false;
    if (!take_number(2, 2, hours)) return false;
    if (!at_end()) {
      take(':');
      if (!take_number(2, 2, minutes)) return false;
    }
    if (hours > 23 || minutes > 59) return false;
    seconds = (is_negative ? -1 : 1) * (hours * 3600.0 + minutes * 60.0);
    return true;
  }

 private:
  std::string_view rest_;
};

struct Moment {
  int year = 1970, month = 1, day = 1, of_year = 0;
  int hour = 0, minute = 0, second = 0;
  double fraction = 0, offset = 0;
  bool has_half = false, is_afternoon = false;

  std::optional<Days> days() const {
    const int hours = has_half ? hour % 12 + (is_afternoon ? 12 : 0) : hour;
    const bool is_time = hours <= 23 && minute <= 59 && second <= 59 && !(has_half && (hour < 1 || hour > 12));
    const bool is_month = month >= 1 && month <= 12;
    if (!is_time || !is_month || day < 1 || day > days_of_month(year, month)) return std::nullopt;
    if (of_year < 0 || of_year > (is_leap(year) ? 366 : 365)) return std::nullopt;
    const auto whole =
        static_cast<double>(of_year > 0 ? days_from(year, 1, 1) + of_year - 1 : days_from(year, month, day));
    return whole + (hours * 3600.0 + minute * 60.0 + second + fraction - offset) / kSecondsOfDay;
  }
};

std::optional<Days> parse_iso(std::string_view text) {
  Reader in(text);
  Moment at;
  const bool is_date = in.take_number(4, 4, at.year) && in.take('-') && in.take_number(2, 2, at.month) &&
                       in.take('-') && in.take_number(2, 2, at.day);
  if (!is_date) return std::nullopt;
  if (in.at_end()) return at.days();
  if (!in.take('T') && !in.take(' ')) return std::nullopt;
  if (!in.take_number(2, 2, at.hour) || !in.take(':') || !in.take_number(2, 2, at.minute)) return std::nullopt;
  if (in.take(':')) {
    if (!in.take_number(2, 2, at.second)) return std::nullopt;
    if ((in.take('.') || in.take(',')) && !in.take_fraction(at.fraction)) return std::nullopt;
  }
  if (!in.at_end() && !in.take_offset(at.offset)) return std::nullopt;
  return in.at_end() ? at.days() : std::nullopt;
}

// Takes what a directive stands for.
bool take_directive(char directive, Reader& in, Moment& at) {
  int unused = 0;
  switch (directive) {
    case 'Y':
      return in.take_number(4, 4, at.year);
    case 'y':  // as POSIX has it
      if (!in.take_number(2, 2, at.year)) return false;
      at.year += at.year < 69 ? 2000 : 1900;
      return true;
    case 'm':
      return in.take_number(1, 2, at.month);
    case 'd':
      return in.take_number(1, 2, at.day);
    case 'b':
    case 'B':
      if (!in.take_name(kMonths, /*is_short=*/directive == 'b', at.month)) return false;
      ++at.month;
      return true;
    case 'j':
      return in.take_number(1, 3, at.of_year) && at.of_year > 0;
    case 'H':
    case 'I':
      return in.take_number(1, 2, at.hour);
    case 'M':
      return in.take_number(1, 2, at.minute);
    case 'S':
      return in.take_number(1, 2, at.second);
    case 'f':
      return in.take_fraction(at.fraction);
    case 'p':
      at.has_half = true;
      at.is_afternoon = in.begins_with("pm");
      return (in.take('A') || in.take('a') || in.take('P') || in.take('p')) && (in.take('M') || in.take('m'));
    case 'z':
      return in.take_offset(at.offset);
    case 'a':
    case 'A':
      return in.take_name(kWeekdays, /*is_short=*/directive == 'a', unused);
    default:
      return in.take('%');
  }
}

std::optional<Days> parse_as(std::string_view text, std::string_view format) {
  Reader in(text);
  Moment at;
  for (std::size_t i = 0; i < format.size(); ++i) {
    const bool is_directive = format[i] == '%' && i + 1 < format.size();
    const bool taken = is_directive ? take_directive(format[++i], in, at) : in.take(format[i]);
    if (!taken) return std::nullopt;
  }
  return in.at_end() ? at.days() : std::nullopt;
}

}  // namespace

std::optional<Days> parse_date(std::string_view text, const std::string& format) {
  text = without_blanks(text);
  return format.empty() ? parse_iso(text) : parse_as(text, format);
}

std::string unknown_directive(std::string_view format) {
  for (std::size_t i = 0; i < format.size(); ++i) {
    if (format[i] != '%') continue;
    const std::string_view directive = format.substr(i++, 2);
    constexpr std::string_view kKnown = "YymdbBjHIMSfpzaA%";
    if (directive.size() < 2 || kKnown.find(directive[1]) == std::string_view::npos) return std::string(directive);
  }
  return "";
}

double part_of(DatePart part, Days days) {
  if (part == DatePart::days) return days;
  const double floor = std::floor(days);
  // A fraction such as 1/24 is not exact: half a millisecond belongs to the next hour.
  if (part == DatePart::hour) return std::min(23, static_cast<int>((days - floor) * 24 + 0.5e-3 / 3600));
  const auto whole = static_cast<std::int64_t>(floor);
  if (part == DatePart::weekday) return static_cast<double>(((whole + 3) % 7 + 7) % 7);
  // Hinnant's inverse of days_from.
  const std::int64_t from_march = whole + 719468;
  const std::int64_t era = (from_march >= 0 ? from_march : from_march - 146096) / 146097;
  const std::int64_t of_era = from_march - era * 146097;
  const std::int64_t year_of_era = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
  const std::int64_t of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
  const std::int64_t shifted = (5 * of_year + 2) / 153;  // March is 0
  const std::int64_t month = shifted < 10 ? shifted + 3 : shifted - 9;
  if (part == DatePart::month) return static_cast<double>(month);
  if (part == DatePart::day) return static_cast<double>(of_year - (153 * shifted + 2) / 5 + 1);
  return static_cast<double>(year_of_era + era * 400 + (month <= 2 ? 1 : 0));
}

}  // namespace ddp
