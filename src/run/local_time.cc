#include "run/local_time.h"

#include <array>
#include <ctime>

namespace oomdoctor {

std::string local_time() {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  tm parts{};
  localtime_r(&now.tv_sec, &parts);
  std::array<char, 32> text{};
  const std::size_t size = strftime(text.data(), text.size(), "%Y/%m/%d %H:%M:%S", &parts);
  const std::string milliseconds = std::to_string(1000 + now.tv_nsec / 1'000'000).substr(1);
  return std::string(text.data(), size) + '.' + milliseconds;
}

}  // namespace oomdoctor
