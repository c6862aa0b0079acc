#!/usr/bin/env bash
# gcc.sh - g++ compiles a large generated file, optimised: the object file must be identical.
source "$(dirname "$0")/common.sh"
need g++
need_python
export CCACHE_DISABLE=1 # the second object file would be the first one's copy
echo '#include <string>' | g++ -std=c++17 -x c++ -fsyntax-only - 2>/dev/null || skip "g++ here does not compile C++17"

"$python" - >large.cpp <<'PYTHON'
for header in "algorithm", "functional", "map", "regex", "string", "vector":
    print(f"#include <{header}>")
print("template <int N> struct chain { static long sum(const std::vector<long> &v) {"
      " return v[N % v.size()] * N + chain<N - 1>::sum(v); } };")
print("template <> struct chain<0> { static long sum(const std::vector<long> &v) { return v[0]; } };")
for i in range(70):
    print(f"""
struct record{i} {{ std::map<std::string, std::vector<long>> values; std::function<long(long)> call; int tag = {i}; }};
long use{i}(record{i} &r, const std::string &key) {{
    std::vector<long> &v = r.values[key + "{i}"];
    for (int k = 0; k < {i % 13 + 3}; k++) v.push_back(k * {i} + r.tag);
    std::sort(v.begin(), v.end(), [](long a, long b) {{ return a % {i + 2} < b % {i + 2}; }});
    r.call = [&v](long x) {{ return x + v.back(); }};
    switch (v.size() % 5) {{ case 0: return r.call(1); case 1: return v[0]; case 2: return chain<{i % 40}>::sum(v); }}
    return std::count(v.begin(), v.end(), {i});
}}""")
print('bool match(const std::string &s) { return std::regex_match(s, std::regex("(a|b)*c+[0-9]{2,5}")); }')
PYTHON
system g++ -std=c++17 -O2 -g -c large.cpp -o system.o
jw g++ -std=c++17 -O2 -g -c large.cpp -o jw.o
same system.o jw.o
ls -l jw.o
