#pragma once

// Includes Catch2 2 or 3, depending on the installed version.
#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>
#else
#include <catch2/catch.hpp>
#endif
