// The main of the test program. Catch2 3 brings its own; version 2 is told here to make one.
#if !__has_include(<catch2/catch_all.hpp>)
#define CATCH_CONFIG_MAIN
#include <catch2/catch.hpp>
#endif
