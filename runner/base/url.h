#pragma once

#include <string>
#include <string_view>

namespace ddp {

// URLs of data: s3://, gs://, abfs://, http:// and https://.
bool is_url(std::string_view text);

// Has it the form of a URL, of any scheme? "gcs://bucket" is not meant as a folder "gcs:".
bool has_url_form(std::string_view text);

// Returns the URL without its query, which may hold a signature, for messages and the files of a run.
std::string without_query(std::string_view url);

// Returns the URL of something below a folder: the name comes before the query. The folder may also be a path.
std::string url_below(std::string_view folder, const std::string& name);

// Returns a text without the queries of its URLs, which end at a blank or a quote.
std::string without_queries(std::string text);

// Does the query hold a signature? Another one names the same object.
bool is_signed(std::string_view url);

// Does the URL name a user, as "https://user:password@host/" or "https://token@host/"? It would be written to the run's
// files. The container of an Azure URL and Google's "anonymous" also end with "@", and are none.
bool has_user(std::string_view url);
inline constexpr const char* kNoUser =
    "s3, gs and abfs take credentials from the environment, as the provider's own tools do";

// Returns the name behind the last "/" of the URL's path, as a file's name: "t.csv". "object": the path has none.
std::string file_name_of(std::string_view url);

}  // namespace ddp
