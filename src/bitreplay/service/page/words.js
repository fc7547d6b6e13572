// Numbers as people read them.
export const plural = (number, one, many = `${one}s`) => `${number.toLocaleString("en")} ${number === 1 ? one : many}`;

export function bytes(number) {
  if (number < 1000) return plural(number, "byte");
  if (number < 1e6) return `${(number / 1000).toFixed(number < 1e4 ? 1 : 0)} KB`;
  return `${(number / 1e6).toFixed(1)} MB`;
}

export const milliseconds = (number) => (number < 1000 ? `${Math.max(1, Math.round(number))} ms` : `${(number / 1000).toFixed(1)} s`);

export function percent(share) {
  if (share > 0.995 && share < 1) return "> 99 %";
  if (share < 0.005 && share > 0) return "< 1 %";
  return `${Math.round(100 * share)} %`;
}
