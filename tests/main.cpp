// Catch2 2 is only headers: this file is where its main function is compiled, once for all test programs.
#define CATCH_CONFIG_MAIN
#include <catch2/catch.hpp>
