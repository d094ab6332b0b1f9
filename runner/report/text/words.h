#pragma once

#include <ctime>
#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include "config/option/value.h"

namespace ddp::report {

// Values in a form for people.

// A number with four digits: "0.04211", "1.5e-05".
std::string in_words(double number);
std::string in_words(const std::optional<double>& number);  // "" for no number
// A value of an experiment file on one line; a text has no quotes.
std::string in_words(const config::Value& value);

// "4.5 ms", "0.31 s", "12.5 s", "2m 05s", "3h 12m", "4d 7h".
std::string duration(double seconds);
// "512 B", "1.5 GiB".
std::string bytes_in_words(std::int64_t bytes);
// The age of a moment: "12s", "5m", "3h", "9d".
std::string age(std::time_t moment, std::time_t now);
// A moment in local time: "2026-11-21 21:04:05".
std::string local_time(std::time_t moment);

// "1 epoch", "3 epochs".
std::string counted(std::int64_t number, const std::string& noun);

// "a, b, c".
std::string joined(const std::vector<std::string>& texts, const char* between = ", ");

// Adds a text unless the list has it.
void add_once(std::vector<std::string>& all, const std::string& text);

// Prints JSON as the commands do, with an indent of 2. Bytes that are not UTF-8 become U+FFFD.
void print_json(const config::Value& value, std::ostream& out);

// SGR code for a status: failed red, running green, interrupted yellow.
const char* colour_of_status(const std::string& status);

}  // namespace ddp::report
