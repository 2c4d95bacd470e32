import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';

const tokens = readFileSync(new URL('./face/tokens.css', import.meta.url), 'utf8');
const colours = new Map(
  [...tokens.matchAll(/--([\w-]+): light-dark\((#\w{6}), (#\w{6})\)/g)].map(([, name, light, dark]) => [
    name,
    { light: channelsOf(light), dark: channelsOf(dark) },
  ]),
);

describe.each(['light', 'dark'] as const)('the colours of the %s theme', (theme) => {
  const colour = (name: string): number[] => colours.get(name)?.[theme] ?? [];

  it.each(['foreground', 'muted-foreground', 'primary', 'ready', 'running', 'waiting', 'failed', 'blocked', 'off'])(
    'can be read: %s on each ground',
    (name) => {
      for (const ground of ['background', 'card', 'muted'])
        expect(contrastOf(colour(name), colour(ground))).toBeGreaterThanOrEqual(4.5);
    },
  );

  it.each(['keyword', 'string', 'constant', 'function', 'deleted'])('can be read: %s in code', (name) => {
    expect(contrastOf(colour(`code-${name}`), colour('muted'))).toBeGreaterThanOrEqual(4.5);
  });

  it.each(['ready', 'running', 'waiting', 'failed', 'blocked'])('can be read: %s on its badge', (name) => {
    const badge = colour('card').map((channel, index) => 0.88 * channel + 0.12 * (colour(name)[index] ?? Number.NaN));
    expect(contrastOf(colour(name), badge)).toBeGreaterThanOrEqual(4.5);
  });

  it('show the edge of a control', () => {
    expect(contrastOf(colour('input'), colour('card'))).toBeGreaterThanOrEqual(3);
  });
});

function channelsOf(hex = ''): number[] {
  return [1, 3, 5].map((at) => Number.parseInt(hex.slice(at, at + 2), 16) / 255);
}

/** By WCAG 2.2. */
function contrastOf(one: readonly number[], other: readonly number[]): number {
  const [darker = Number.NaN, lighter = Number.NaN] = [luminanceOf(one), luminanceOf(other)].sort((a, b) => a - b);
  return (lighter + 0.05) / (darker + 0.05);
}

function luminanceOf(channels: readonly number[]): number {
  const [red = Number.NaN, green = Number.NaN, blue = Number.NaN] = channels.map((channel) =>
    channel <= 0.04045 ? channel / 12.92 : ((channel + 0.055) / 1.055) ** 2.4,
  );
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}
