#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

namespace ddp {

// A moment: days since 1970-01-01, with the time of the day as a fraction.
using Days = double;

// Reads a date, or a date and a time. `format`: "" for ISO 8601 ("2026-11-29", "2026-11-29T08:30", with seconds,
// fractions of them, and "Z" or an offset to UTC such as "+01:00", which is subtracted); else as strftime has it, with
// %Y %y %m %d %b %B %j %H %I %M %S %f %p %z %a %A and %%. Blanks around it are allowed. Nothing: the text is no such
// date, or there is no such day.
std::optional<Days> parse_date(std::string_view text, const std::string& format);

// Returns the first directive that parse_date does not know, such as "%q"; "": it knows all.
std::string unknown_directive(std::string_view format);

// A moment as a number: the days, or a part of the date in the Gregorian calendar.
enum class DatePart { days, year, month, day, weekday, hour };
constexpr std::array<const char*, 6> names_of(DatePart) { return {"days", "year", "month", "day", "weekday", "hour"}; }
// Months and days count from 1; Monday is 0.
double part_of(DatePart part, Days days);

}  // namespace ddp
