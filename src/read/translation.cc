// A word is replaced only if the table has it; all other text stays. A label ends at a word that stays, so a sentence
// that is only half understood gives no value.
#include "read/translation.h"

#include <algorithm>
#include <array>

#include "base/ascii.h"

namespace oomdoctor {
namespace {

struct Translation {
  std::string_view word, english;
};

/// Sentences about a failure, in lower case, as the trigger of the lexicon that they mean.
constexpr auto failures = std::to_array<Translation>({
    {"显存不足", "out of vram"},
    {"顯存不足", "out of vram"},
    {"显存溢出", "out of vram"},
    {"内存不足", "out of mem"},
    {"內存不足", "out of mem"},
    {"内存溢出", "out of mem"},
    {"記憶體不足", "out of memory"},
    {"メモリが不足", "out of memory"},
    {"メモリー不足", "out of memory"},
    {"メモリ不足", "out of memory"},
    {"메모리가 부족", "out of memory"},
    {"메모리 부족", "out of memory"},
    {"메모리부족", "out of memory"},
    {"nicht genügend speicher", "out of memory"},
    {"nicht genug speicher", "out of memory"},
    {"zu wenig speicher", "out of memory"},
    {"mémoire insuffisante", "out of memory"},
    {"pas assez de mémoire", "out of memory"},
    {"memoria insuficiente", "out of memory"},
    {"memória insuficiente", "out of memory"},
    {"memoria insufficiente", "out of memory"},
    {"memoria esaurita", "out of memory"},
    {"memoria agotada", "out of memory"},
    {"недостаточно памяти", "out of memory"},
    {"нехватка памяти", "out of memory"},
    {"не хватает памяти", "out of memory"},
    {"не хватило памяти", "out of memory"},
});

/// Scripts without blanks between words, with their punctuation. Longer words first. A character has three bytes;
/// blanks in front fill up the English word. A particle becomes blanks.
constexpr auto syllables = std::to_array<Translation>({
    {"尝试", "tried"},
    {"嘗試", "tried"},
    {"试图", "tried"},
    // Memory and its parts.
    {"虚拟内存", "virtual mem"},
    {"仮想メモリ", "virtual memory"},
    {"가상 메모리", "virtual memory"},
    {"记忆体", "mem"},
    {"記憶體", "mem"},
    {"显存", "vram"},
    {"顯存", "vram"},
    {"内存", "mem"},
    {"內存", "mem"},
    {"メモリー", "memory"},
    {"メモリ", "memory"},
    {"메모리", "memory"},
    {"主机", "host"},
    {"主機", "host"},
    {"ホスト", "host"},
    {"호스트", "host"},
    {"系统", "host"},
    {"系統", "host"},
    {"システム", "system"},
    {"시스템", "system"},
    // What is counted.
    {"已分配", "alloc"},
    {"分配", "alloc"},
    {"配置", "alloc"},
    {"割り当て済み", "allocated"},
    {"割り当て", "alloc"},
    {"確保", "alloc"},
    {"할당", "alloc"},
    {"已预留", "cached"},
    {"已預留", "cached"},
    {"已保留", "cached"},
    {"预留", "rsvd"},
    {"預留", "rsvd"},
    {"保留", "rsvd"},
    {"缓存", "rsvd"},
    {"快取", "rsvd"},
    {"予約", "rsvd"},
    {"예약", "rsvd"},
    {"已使用", "used"},
    {"已用", "used"},
    {"使用", "used"},
    {"占用", "used"},
    {"佔用", "used"},
    {"사용", "used"},
    {"可用", "free"},
    {"空闲", "free"},
    {"空閒", "free"},
    {"剩余", "free"},
    {"剩餘", "free"},
    {"空き", "free"},
    {"残り", "free"},
    {"여유", "free"},
    {"남은", "free"},
    {"峰值", "peak"},
    {"ピーク", "peak"},
    {"피크", "peak"},
    {"最大", "max"},
    {"最高", "max"},
    {"최대", "max"},
    {"当前", "now"},
    {"當前", "now"},
    {"目前", "now"},
    {"現在", "now"},
    {"현재", "now"},
    {"活跃", "active"},
    {"活躍", "active"},
    // The place in the run.
    {"时间", "time"},
    {"時間", "time"},
    {"시간", "time"},
    {"步骤", "step"},
    {"步驟", "step"},
    {"ステップ", "step"},
    {"스텝", "step"},
    {"단계", "step"},
    {"迭代", "iter"},
    {"イテレーション", "iter"},
    {"반복", "iter"},
    {"轮次", "epoch"},
    {"輪次", "epoch"},
    {"エポック", "epoch"},
    {"에포크", "epoch"},
    {"에폭", "epoch"},
    {"步", "it"},
    // What is not a measurement.
    {"总容量", "capacity"},
    {"總容量", "capacity"},
    {"总计", "total"},
    {"總計", "total"},
    {"总量", "total"},
    {"總量", "total"},
    {"合計", "total"},
    {"전체", "total"},
    {"总", "sum"},
    {"總", "sum"},
    {"総", "sum"},
    {"총", "sum"},
    {"限制", "limit"},
    {"上限", "limit"},
    {"制限", "limit"},
    {"제한", "limit"},
    {"한도", "limit"},
    {"需要", "need"},
    {"必要", "need"},
    {"필요", "need"},
    {"模型", "model"},
    {"モデル", "model"},
    {"모델", "model"},
    {"磁盘", "disk"},
    {"硬盘", "disk"},
    {"ディスク", "disk"},
    {"디스크", "disk"},
    // Particles and punctuation.
    {"第", ""},
    {"的", ""},
    {"为", ""},
    {"為", ""},
    {"量", ""},
    {"中", ""},
    {"の", ""},
    {"は", ""},
    {"が", ""},
    {"는", ""},
    {"은", ""},
    {"가", ""},
    {"이", ""},
    {"의", ""},
    {"된", ""},
    {"량", ""},
    {"：", ":"},
    {"，", ","},
    {"、", ","},
    {"。", "."},
    {"（", "("},
    {"）", ")"},
    {"／", "/"},
    {"　", ""},
});

/// Beginnings of words of alphabets, in lower case. The first entry that fits counts. One without a translation leaves
/// the word as it is.
constexpr auto beginnings = std::to_array<Translation>({
    // German.
    {"speichernutzung", "memory usage"},
    {"speicherverbrauch", "memory usage"},
    {"speicherbelegung", "memory usage"},
    {"speicherauslastung", "memory usage"},
    {"speicherbedarf", "memory need"},
    {"speichern", ""},
    {"speicherort", ""},
    {"speicher", "memory"},
    {"arbeitsspeicher", "host memory"},
    {"hauptspeicher", "host memory"},
    {"grafikspeicher", "vram"},
    {"videospeicher", "vram"},
    {"belegt", "used"},
    {"verwendet", "used"},
    {"genutzt", "used"},
    {"zugewiesen", "allocated"},
    {"reserviert", "cached"},
    {"schritt", "step"},
    {"zeit", "time"},
    {"epoche", "epoch"},
    {"modell", "model"},
    {"insgesamt", "total"},
    {"gesamt", "total"},
    {"benötigt", "needed"},
    {"frei", "free"},
    // French.
    {"mémoire", "memory"},
    {"allouée", "alloc"},
    {"alloué", "alloc"},
    {"réservé", "cached"},
    {"utilisé", "used"},
    {"occupé", "used"},
    {"libre", "free"},
    {"étape", "step"},
    {"temps", "time"},
    {"itération", "iter"},
    {"époque", "epoch"},
    {"modèle", "model"},
    {"disque", "disk"},
    // Spanish, Portuguese, Italian.
    {"memoria", "memory"},
    {"memória", "memory"},
    {"asignad", "alloc"},
    {"alocad", "alloc"},
    {"allocated", ""},  // English words stay as they are
    {"allocating", ""},
    {"allocation", ""},
    {"allocator", ""},
    {"allocate", ""},
    {"allocat", "alloc"},
    {"reservad", "cached"},
    {"riservat", "cached"},
    {"usad", "used"},
    {"usat", "used"},
    {"utilizad", "used"},
    {"utilizzat", "used"},
    {"ocupad", "used"},
    {"occupat", "used"},
    {"livre", "free"},
    {"liber", "free"},
    {"disponib", "free"},
    {"paso", "step"},
    {"tiempo", "time"},
    {"passo", "step"},
    {"iteraci", "iter"},
    {"iteraç", "iter"},
    {"iterazion", "iter"},
    {"época", "epoch"},
    {"epoca", "epoch"},
    {"modelo", "model"},
    {"modello", "model"},
    {"disco", "disk"},
    {"límite", "limit"},
    {"limited", ""},  // English
    {"limite", "limit"},
    // Russian.
    {"видеопамят", "vram"},
    {"памят", "memory"},
    {"выделен", "alloc"},
    {"зарезервирован", "cached"},
    {"использ", "used"},
    {"занят", "used"},
    {"свободн", "free"},
    {"доступн", "free"},
    {"пик", "peak"},
    {"шаг", "step"},
    {"время", "time"},
    {"итераци", "iter"},
    {"эпох", "epoch"},
    {"всего", "total"},
    {"лимит", "limit"},
    {"модел", "model"},
    {"требу", "needed"},
    {"диск", "disk"},
    {"гиб", "GiB"},
    {"миб", "MiB"},
    {"гб", "GB"},
    {"мб", "MB"},
    // Polish.
    {"pamięć", "memory"},
    {"pamięci", "memory"},
    {"krok", "step"},
    {"epoka", "epoch"},
    {"zajęt", "used"},
    {"używan", "used"},
    {"przydzielon", "alloc"},
    {"wolne", "free"},
});

/// Units of memory in French, "octets" for bytes. English has "go" as a verb.
constexpr auto french_units = std::to_array<Translation>({{"Go", "GB"}, {"Mo", "MB"}, {"Gio", "GiB"}, {"Mio", "MiB"}});

/// Two bytes of UTF-8 that are a letter of a European alphabet.
bool is_letter_pair(unsigned char lead, unsigned char trail) {
  const bool sign = lead == 0xC3 && (trail == 0x97 || trail == 0xB7);  // × and ÷
  return ((lead >= 0xC3 && lead <= 0xC5) || lead == 0xD0 || lead == 0xD1) && !sign;
}

/// The bytes of the letter at `at`; 0 if there is none.
std::size_t letter_size(std::string_view text, std::size_t at) {
  if (is_letter(text[at])) return 1;
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  return at + 1 < text.size() && is_letter_pair(byte(at), byte(at + 1)) ? 2 : 0;
}

/// Lower case of ASCII, Western European and Russian letters. No letter changes its length.
std::string lower_letters(std::string_view text) {
  std::string out = lower(text);
  for (std::size_t i = 0; i + 1 < out.size(); ++i) {
    const auto lead = static_cast<unsigned char>(out[i]), trail = static_cast<unsigned char>(out[i + 1]);
    if (lead == 0xC3 && trail >= 0x80 && trail <= 0x9E && trail != 0x97) out[i + 1] = static_cast<char>(trail + 0x20);
    if (lead == 0xD0 && trail >= 0x90 && trail <= 0x9F) out[i + 1] = static_cast<char>(trail + 0x20);
    if (lead == 0xD0 && trail >= 0xA0 && trail <= 0xAF)
      out[i] = static_cast<char>(0xD1), out[i + 1] = static_cast<char>(trail - 0x20);
  }
  return out;
}

/// False for nearly all lines, which are English.
bool may_be_foreign(std::string_view line) {
  const bool script = std::any_of(line.begin(), line.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return (byte >= 0xC3 && byte <= 0xC5) || byte == 0xD0 || byte == 0xD1 || (byte >= 0xE3 && byte <= 0xEF);
  });
  return script || line.find("peicher") != line.npos || line.find("emoria") != line.npos;
}

template <std::size_t n>
constexpr bool fit(const std::array<Translation, n>& all) {
  return std::all_of(all.begin(), all.end(), [](const Translation& t) { return t.english.size() <= t.word.size(); });
}
static_assert(fit(failures) && fit(syllables) && fit(beginnings) && fit(french_units),
              "a translation takes the place of its word, so that all positions stay");

class Translator {
 public:
  explicit Translator(std::string_view line) : text_(line) {}

  std::string translate() {
    replace_failures();
    replace_syllables();
    replace_words();
    return any_ ? std::move(text_) : std::string();
  }

 private:
  void put(std::size_t at, std::size_t size, std::string_view english) {
    text_.replace(at, size, std::string(size - english.size(), ' ').append(english));
  }

  void replace_failures() {
    const std::string lowered = lower_letters(text_);
    for (const Translation& failure : failures)
      for (std::size_t at = lowered.find(failure.word); at != lowered.npos; at = lowered.find(failure.word, at + 1)) {
        put(at, failure.word.size(), failure.english);
        any_ = true;
      }
  }

  void replace_syllables() {
    for (const Translation& word : syllables)
      for (std::size_t at = text_.find(word.word); at != text_.npos; at = text_.find(word.word, at)) {
        put(at, word.word.size(), word.english);
        any_ |= word.english.size() > 1;
      }
  }

  void replace_words() {
    const std::string lowered = lower_letters(text_);
    for (std::size_t begin = 0, end = 0; begin < text_.size(); begin = std::max(end, begin + 1)) {
      end = begin;
      while (end < text_.size() && letter_size(text_, end) > 0) end += letter_size(text_, end);
      const std::string_view word = std::string_view(lowered).substr(begin, end - begin);
      const auto known = std::find_if(beginnings.begin(), beginnings.end(),
                                      [&](const Translation& t) { return word.starts_with(t.word); });
      if (word.empty() || known == beginnings.end() || known->english.empty()) continue;
      put(begin, word.size(), known->english);
      any_ = true;
    }
    if (!any_) return;
    for (const Translation& unit : french_units)
      for (std::size_t at = text_.find(unit.word); at != text_.npos; at = text_.find(unit.word, at + 1)) {
        const std::size_t end = at + unit.word.size();
        const bool starts = at > 0 && (text_[at - 1] == ' ' || is_digit(text_[at - 1]));
        if (starts && (end == text_.size() || letter_size(text_, end) == 0)) put(at, unit.word.size(), unit.english);
      }
  }

  std::string text_;
  bool any_ = false;
};

}  // namespace

std::string in_english(std::string_view line) {
  return may_be_foreign(line) ? Translator(line).translate() : std::string();
}

}  // namespace oomdoctor
