# policy_hash(TEXT RESULT): the hash of a script or a style sheet as a Content-Security-Policy names it, "sha256-…": base64 of the
# digest, two characters for three hexadecimal digits.
function(policy_hash text result)
  set(alphabet ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/)
  string(SHA256 digits "${text}")
  string(APPEND digits 00)  # 32 bytes lack one to a multiple of three
  set(base64 "")
  foreach(at RANGE 0 63 3)
    string(SUBSTRING ${digits} ${at} 3 three)
    math(EXPR high "0x${three} >> 6")
    math(EXPR low "0x${three} & 63")
    string(SUBSTRING ${alphabet} ${high} 1 first)
    string(SUBSTRING ${alphabet} ${low} 1 second)
    string(APPEND base64 ${first}${second})
  endforeach()
  string(SUBSTRING ${base64} 0 43 base64)
  set(${result} "sha256-${base64}=" PARENT_SCOPE)
endfunction()
