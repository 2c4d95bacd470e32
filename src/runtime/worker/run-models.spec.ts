import { describe, expect, it } from '@jest/globals';
import { APICallError } from 'ai';
import { ModelHealth } from '../../agents/models/model-health.js';
import type { TierModel } from '../../agents/models/models.service.js';
import { DomainError } from '../../core/domain-error.js';
import { StorageLostError } from '../../core/retry.js';
import type { ModelPayments } from './model-payments.js';
import { RunModels } from './run-models.js';

const modelsOf = (...names: string[]): TierModel[] =>
  names.map((model) => ({ providerId: 'p', model, name: `kind/${model}` }) as TierModel);

const newModels = (models: TierModel[], health: ModelHealth): RunModels =>
  new RunModels(models, health, {} as ModelPayments);

const refused = Object.assign(new Error('connect'), { code: 'ECONNREFUSED' });

describe('RunModels', () => {
  it.each<[string, unknown, boolean]>([
    ['a provider that cannot be reached', refused, true],
    ['a file that the model does not take', new DomainError('file_unsupported'), true],
    ['a key that cannot be decrypted', new DomainError('internal'), true],
    ['a storage that is away', new StorageLostError('x', { cause: refused }), false],
    ['a refused request', new APICallError({ message: '', url: '', requestBodyValues: {}, statusCode: 400 }), false],
    ['a defect of our own', new TypeError('x'), false],
  ])('goes on after %s: %#', (_, error, goesOn) => {
    const models = newModels(modelsOf('a', 'b'), new ModelHealth());
    models.begin();
    expect(models.canGoOn(error)).toBe(goesOn);
  });

  it('begins with the first model whose breaker is closed, and counts no file that a model does not take', () => {
    const health = new ModelHealth();
    const run = (): RunModels => {
      const models = newModels(modelsOf('a', 'b', 'c'), health);
      models.begin();
      return models;
    };
    for (let n = 0; n < 5; n++) run().goOn(new DomainError('file_unsupported'));
    expect(run().current.model).toBe('a');
    for (let n = 0; n < 3; n++) run().goOn(refused);
    expect(run().current.model).toBe('b');
    const models = run();
    models.goOn(refused);
    expect([models.current.model, models.hasNext]).toEqual(['c', false]);
    expect(models.canGoOn(refused)).toBe(false);
  });

  it('calls the first model when the breakers of all are open', () => {
    const health = new ModelHealth();
    const all = modelsOf('a', 'b');
    for (const model of all) for (let n = 0; n < 3; n++) health.noteFailure(model);
    const models = newModels(all, health);
    models.begin();
    expect(models.current.model).toBe('a');
  });
});
