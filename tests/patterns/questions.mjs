// Prints the questions whose answers are committed: node questions.mjs > Q && node oracle.mjs cases Q > answers.jsonl

const TORTURE = 'let café = "naïve"; // TODO: fix\t#42\n  if (x_1 >= 0x1F) { return foo(bar, "a\\"b"); }\n\n'
  + 'John.Doe+tag@example.com https://example.org:8080/p/a?q=1&r=%20#frag\n2024-02-29 23:59:59.123 -1,234.5e-7\r\n'
  + '\t<div class="a b">x &amp; y</div><!-- c -->\r\naaa bbb abab AbC STRASSE straße ſs KKk\u212a İiIı ΣσςΑα Ǆǆ Ωω\u2126\n'
  + 'nb\u00a0sp bom\ufeff nel\u0085x vt\v ff\f ls\u2028mid ps\u2029end mvs\u180e zw\u200b ٣５\r\n'
  + "{ } [ ] ( ) ^ $ | \\ * + ? . / - _ , ; ' ` ~\n---\n   \n😀 𐐀𐐨 a😀b é\n'' \"\" \0 end\r\rx\n";

const QUESTIONS = {
  // Classes and escapes.
  '\\d+|\\s+|[^\\w\\s]': [TORTURE], '\\D\\d': ['a1٣2'], '\\S+$': [TORTURE], '\\bs|s\\b': [TORTURE], '\\B.': [TORTURE],
  '.+': [TORTURE, '\n\r\n'], '[^]': ['\n😀'], '[]|x': ['x]'], '[[]|[\\]]': ['[]'], '[a&&b]+': ['a&b'], '[\\w-z]+': ['a-z'],
  '[+--]+': ['+,-'], '[a-\\d]+': ['a-1b'], '[\\b]': ['\b'], '\\cJ|[\\c1]': ['\n\x11'], '\\c': ['\\c'], '[\\c]+': ['\\c'],
  '\\x41\\u0042\\x4': ['ABx4'], '\\u{2}': ['uu'], '\\p{L}+': ['p{LLL}', 'p{L}'], '\\0|\\01|\\101|\\8': ['\0\x01A8'],
  '\\a\\e\\z\\A\\Z\\h': ['aezAZh'], '\\<\\é\\-': ['<é-'], '[\\xA0-\\uFFFF]+': ['aé😀'], '[^\\x00-\\x7F]+': [TORTURE],
  '\\ud83d\\ude00': ['😀'], '{|}|]': ['{}]'], 'a{|a{,2}|a{b}': ['a{,2}a{'], 'x{2}|y{1,}|z{0,1}': ['xxxyyzz'],
  // Case.
  's+|k+|i+': [TORTURE], '[ſ\\u212a]': [TORTURE], '[^\\W_]+': [TORTURE], 'ß|σ|ǆ|ω': [TORTURE], '[σ-ω]+': [TORTURE],
  '(?i:ab)C|(?-i:A)b': ['ABC aBC Ab ab'], '(a)\\1': ['aA Aa'], '(a)(?i:\\1)': ['aA'],
  // Anchors.
  '^': [TORTURE, ''], $: [TORTURE], '^$': [TORTURE, '\n\n', 'a\r\n\r\n'], '^\\s*$': [TORTURE], '(?-m:^.|.$)': [TORTURE],
  '^(.*)$': ['a\r\nb\n\nc\r\n'], '\\r?$': ['a\r\nb\n'], '\\r\\n': [TORTURE], '^.|.$': ['a\u2028b\u2029c\rd'],
  '(?<=\\r)$': ['a\r\nb'], '^(?!.*a).*': ['a\r\nb\r\n'], '(?s:.)$': ['a\r\n'],
  // Groups, references, repetitions.
  '(a*)*': ['b', 'aab'], '(?:|a)+': ['aaa'], '(?:a?)*?b': ['aab'], '(a?)??b': ['ab'], '(?:(a)|b)*': ['ab', 'ba'],
  '(?:(a)|(b)|\\1\\2c)+': ['abc', 'aabbc'], '(z)((a+)?(b+)?(c))*': ['zaacbbbcac'], '(a){0}b\\1': ['ab'], '(?:){3}a': ['a'],
  '\\1(a)': ['aa'], '(a\\1)': ['aa'], '(?:\\2(a)(b))+': ['abab'], '\\k<x>(?<x>a)': ['aa'], '(?<x>.)\\k<x>': ['aabb'],
  '\\k<x>': ['k<x>'], '(?:(?<x>a)|(?<x>b))\\k<x>': ['aabbab'], '(?:(?:(?<x>a)|(?<x>b))\\k<x>)+': ['aabbb'],
  '(?:(?:(?:ab)+)+)+a': ['abab'], '(a|ab)(c|bcd)(d*)': ['abcd'], 'a{2,3}?': ['aaaaa'], '(?:a{0,2}){2}': ['aaaaa'],
  '(["\'])(?:(?!\\1).)*\\1': [TORTURE], '\\b(\\w)\\w*\\1\\b': [TORTURE], '(\\w)\\1': [TORTURE], '^(\\w+)\\s+\\1$': ['a a\nb c'],
  // Lookaround.
  '(?=(a+))a*b\\1': ['baaabac'], '(?=(a+))': ['baaa'], '(.*?)a(?!(a+)b\\2c)\\2(.*)': ['baaabaac'], '(?=a)*b': ['ab'],
  '(?<=(\\d+)(\\d+))$': ['1053'], '(?<=\\1(a))b': ['aab'], '(?<=(a)\\1)b': ['aab'], '(?<!a|b)c': ['ac bc cc'],
  '(?<=^|\\s)\\w': [TORTURE], 'foo(?!bar)|(?<=\\.)\\w+(?=\\()': [TORTURE, 'foobar foo(x.y('], '(?<=(?=(b))a?)b': ['ab'],
  '^(?!.*test).*unwrap\\(\\)': ['x.unwrap() // test\nx.unwrap()'], '(?!)': ['a'], '(?=)|a': ['a'], '(?<!^)a': ['aa'],
  // Iteration.
  'a*': ['ab', 'baac'], '': ['é😀', ''], '\\b': ['ab cd'], 'b*?': ['bb'], 'x*$': ['xx\n', 'ax'],
  // Ordinary searches.
  'TODO.*$': [TORTURE], '\\w+@\\w+\\.com': [TORTURE], 'https?://[^\\s]+': [TORTURE], '[A-Z][a-z]+': [TORTURE],
  '\\d{4}-\\d{2}-\\d{2}': [TORTURE], '<(\\w+)[^>]*>.*</\\1>': [TORTURE], '\\s+$': [TORTURE], '[^\\n]*é': [TORTURE],
};

const FAULTS = ['(', ')', '(?:', '(?=a', '[', '[a', '[a-', '\\', '[\\', '*', 'a**', 'a|*', '^*', '$+', '\\b?', '{1}', '(?<=a)*',
  '(?<!a){2}', 'a{2,1}', '[z-a]', '[\\w-a]', '[b-a\\d]', '(?', '(?a)', '(?i)', '(?>a)', '(?#a)', '(?P<n>a)', '(?i:', '(?i', '(?-:a)',
  '(?ii:a)', '(?i-i:a)', '(?i--m:a)', '(?s-:a)', '(?-i:a)', '(?<1a>b)', '(?<a', '(?<>a)', '(?<a b>c)', '(?<a>.)(?<a>.)',
  '(?<a>.)|(?<a>.)', '(?<a>(?<a>.))', '(?<a>)\\k', '(?<a>)\\k<', '(?<a>)\\k<b>', '(?<a>)[\\k]', '\\k<a', '(?<\\u0061>b)\\k<a>',
  '(?<\\u{62}>b)\\k<b>', '(?<\\x61>b)', '(?<π$_\\u200c>b)', '(?<😀>b)', 'a{99999999999}b|c', '\\u{110000}', '\\x', '(?|a)',
  'a?+', 'a{1}{2}', 'a???', '(?:a))', '()\\2', '\\u', '[\\u]', '[]]', '[^]]', 'a]', '}', '{', '{1', '{,1}', '{1,x}'];

for (const p of Object.keys(QUESTIONS)) {
  for (const i of [false, true]) for (const s of QUESTIONS[p]) console.log(JSON.stringify({ p, i, s }));
}
for (const p of FAULTS) console.log(JSON.stringify({ p, i: false, s: '' }));
