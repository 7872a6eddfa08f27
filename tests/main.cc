// The main() of the test program. Catch2 3 has its own; for version 2 a macro defines it here.
#if !__has_include(<catch2/catch_all.hpp>)
#define CATCH_CONFIG_MAIN
#include <catch2/catch.hpp>
#endif
