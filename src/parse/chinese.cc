#include "parse/chinese.h"

#include <algorithm>
#include <array>

namespace oomdoctor {
namespace {

struct Translation {
  std::string_view chinese, english;
};

/// Longer words first. A character has three bytes; blanks in front fill up the English word.
constexpr auto translations = std::to_array<Translation>({
    {"记忆体", "mem"},    {"記憶體", "mem"},  {"显存", "vram"},   {"顯存", "vram"},     {"内存", "memory"},
    {"內存", "memory"},   {"主机", "host"},   {"主機", "host"},   {"系统", "system"},   {"系統", "system"},
    {"已分配", "alloc"},  {"分配", "alloc"},  {"配置", "alloc"},  {"已预留", "cached"}, {"已預留", "cached"},
    {"已保留", "cached"}, {"预留", "cached"}, {"預留", "cached"}, {"保留", "cached"},   {"缓存", "cached"},
    {"快取", "cached"},   {"已使用", "used"}, {"已用", "used"},   {"使用", "used"},     {"占用", "used"},
    {"佔用", "used"},     {"可用", "free"},   {"空闲", "free"},   {"空閒", "free"},     {"剩余", "free"},
    {"剩餘", "free"},     {"峰值", "peak"},   {"最大", "max"},    {"最高", "max"},      {"当前", "now"},
    {"當前", "now"},      {"目前", "now"},    {"活跃", "active"}, {"活躍", "active"},   {"步骤", "step"},
    {"步驟", "step"},     {"迭代", "iter"},   {"轮次", "epoch"},  {"輪次", "epoch"},    {"总计", "total"},
    {"總計", "total"},    {"总量", "total"},  {"總量", "total"},  {"限制", "limit"},    {"：", ":"},
});

constexpr std::string_view sum = "总", sum_traditional = "總";  ///< "总显存": the GPU's size, no measurement

}  // namespace

std::string in_english(std::string_view line) {
  if (std::none_of(line.begin(), line.end(), [](char c) { return static_cast<unsigned char>(c) >= 0xE3; })) return {};
  std::string english(line);
  bool any = false;
  for (const Translation& word : translations)
    for (std::size_t at = english.find(word.chinese); at != english.npos; at = english.find(word.chinese, at)) {
      const std::size_t blanks = word.chinese.size() - word.english.size();
      english.replace(at, word.chinese.size(), std::string(blanks, ' ').append(word.english));
      any = true;
    }
  return any && english.find(sum) == english.npos && english.find(sum_traditional) == english.npos ? english
                                                                                                   : std::string();
}

}  // namespace oomdoctor
