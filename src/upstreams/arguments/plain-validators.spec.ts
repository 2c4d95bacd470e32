import { describe, expect, it } from '@jest/globals';
import { type PlainSchema, PlainValidators } from './plain-validators.js';

describe('PlainValidators', () => {
  const schema = (type: string): PlainSchema => ({ form: { type }, isInUse: false });

  it('compiles once, when it is first used', () => {
    const validators = new PlainValidators(2);
    const text = schema('string');
    const validate = validators.of(text);
    expect(validators.of(text)).toBe(validate);
    expect(validate('x')).toEqual([]);
    expect(validate(1)).toMatchObject([{ path: '', code: 'type' }]);
  });

  it('keeps what is in use, and bounds what is kept', () => {
    const validators = new PlainValidators(3);
    const hot = schema('string');
    const validate = validators.of(hot);
    const cold = Array.from({ length: 20 }, () => schema('number'));
    for (const each of cold) {
      validators.of(each);
      expect(validators.of(hot)).toBe(validate);
    }
    expect(cold.filter(({ validate }) => validate !== undefined).length).toBeLessThanOrEqual(2);
    expect(validators.of(cold[0]!)(1)).toEqual([]);
  });
});
