// Catch2 2 is header-only: this file compiles its main function once for all test programs.
#define CATCH_CONFIG_MAIN
#include <catch2/catch.hpp>
