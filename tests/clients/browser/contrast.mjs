// Texts that are hard to read.

// Runs inside the page. The visible texts whose contrast with what is behind them is below 4.5 to 1 (WCAG 2.2, 1.4.3), each
// with its contrast.
export function faint() {
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const parse = (color) => {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = color;
    canvas.fillRect(0, 0, 1, 1);
    const [red, green, blue, alpha] = canvas.getImageData(0, 0, 1, 1).data;
    return { red, green, blue, alpha: alpha / 255 };
  };
  const over = (top, below) => {
    const mix = (name) => top[name] * top.alpha + below[name] * (1 - top.alpha);
    return { red: mix("red"), green: mix("green"), blue: mix("blue"), alpha: 1 };
  };
  const behind = (element) => {
    const layers = [];
    for (let at = element; at; at = at.parentElement) layers.push(parse(getComputedStyle(at).backgroundColor));
    const page = parse(getComputedStyle(document.body).backgroundColor);
    return layers.reverse().reduce((below, layer) => over(layer, below), page);
  };
  const light = ({ red, green, blue }) => {
    const part = (value) => (value / 255 <= 0.04045 ? value / 255 / 12.92 : ((value / 255 + 0.055) / 1.055) ** 2.4);
    return 0.2126 * part(red) + 0.7152 * part(green) + 0.0722 * part(blue);
  };
  const found = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  let seen = 0;
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement;
    const text = walker.currentNode.data.trim();
    if (!text || ["SCRIPT", "STYLE"].includes(element.tagName) || !element.checkVisibility()) continue;
    seen += 1;
    const back = behind(element);
    const [one, other] = [light(over(parse(getComputedStyle(element).color), back)), light(back)];
    const contrast = (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05);
    if (contrast < 4.5) found.push(`${text.slice(0, 40)}: ${contrast.toFixed(2)}`);
  }
  return seen > 20 ? found : [`only ${seen} texts are there`];
}
