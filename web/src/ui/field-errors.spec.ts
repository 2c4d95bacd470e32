import { expect, it } from '@jest/globals';
import { FieldErrors } from './field-errors.js';

const error = (path: string, message: string) => ({ path, code: 'bad', message });

it('gives each fault to the field that is nearest to it', () => {
  const paths = new Map([
    ['title', 1],
    ['price', 1],
    ['price.input', 1],
  ]);
  const faults = [
    error('data.title', 'Too long.'),
    error('data.title', 'Not a text.'),
    error('price.input', 'Negative.'),
    error('data.price.output', 'Missing.'),
    error('data.titles', 'Unknown.'),
    error('', 'No object.'),
  ];
  const errors = new FieldErrors(faults, paths);
  expect(errors.messageOf('title')).toBe('Too long. Not a text.');
  expect(errors.messageOf('price.input')).toBe('Negative.');
  expect(errors.messageOf('price')).toBe('Missing.');
  expect(faults.filter((fault) => !errors.shows(fault)).map(({ path }) => path)).toEqual(['data.titles', '']);
});

it('leaves to the summary what no field shows', () => {
  const fault = error('data.list[0].name', 'Twice.');
  const without = new FieldErrors([fault], new Map());
  expect(without.messageOf('list')).toBeUndefined();
  expect(without.shows(fault)).toBe(false);
  const withField = new FieldErrors([fault], new Map([['list', 1]]));
  expect(withField.messageOf('list')).toBe('Twice.');
  expect(withField.shows(fault)).toBe(true);
  expect(withField.shows({ ...fault })).toBe(false);
});
