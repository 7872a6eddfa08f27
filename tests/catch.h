// Catch2 under one name: version 2 (Debian 12) has one header, version 3 has many.
#pragma once

#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>
using Catch::Approx;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::EndsWith;
using Catch::Matchers::StartsWith;
#else
#include <catch2/catch.hpp>
using Catch::EndsWith;
using Catch::StartsWith;
inline auto ContainsSubstring(const std::string& text) { return Catch::Contains(text); }
#endif
