import 'reflect-metadata';
import { describe, expect, it } from '@jest/globals';
import type { Type } from '@nestjs/common';
import { DiscoveryModule } from '@nestjs/core';
import { Test } from '@nestjs/testing';
import { createEchoModel } from './builtin/echo-model.js';
import { AnthropicModels } from './kinds/anthropic.js';
import { OpenAiCompatibleModels } from './kinds/openai-compatible.js';
import { OpenAiModels } from './kinds/openai.js';
import { type LanguageModels, ModelKind, PROVIDER_KINDS, ModelKinds } from './model-kind.js';

const OWN = [OpenAiCompatibleModels, OpenAiModels, AnthropicModels];

class EchoModels implements LanguageModels {
  openModel = createEchoModel;
}

@ModelKind('pantry')
class PantryModels extends EchoModels {}

@ModelKind('openai')
class OtherModels extends EchoModels {}

@ModelKind('The Pantry')
class MisnamedModels extends EchoModels {}

async function kindsOf(...providers: Type[]): Promise<ModelKinds> {
  const module = await Test.createTestingModule({
    imports: [DiscoveryModule],
    providers: [ModelKinds, ...providers],
  }).compile();
  return (await module.init()).get(ModelKinds);
}

describe('ModelKinds', () => {
  it('has the kinds of the application only', async () => {
    expect((await kindsOf(...OWN)).names()).toEqual(['openai-compatible', 'openai', 'anthropic']);
    const kinds = await kindsOf(...OWN, PantryModels);
    expect(kinds.findByName('pantry')).toBeInstanceOf(PantryModels);
    expect(PROVIDER_KINDS).toContain('pantry');
  });

  it('refuses two kinds with one name', async () => {
    await expect(kindsOf(...OWN, OtherModels)).rejects.toThrow(
      'Two model kinds are named openai; one of them is OtherModels.',
    );
  });

  it('refuses names that are no identifier', async () => {
    await expect(kindsOf(MisnamedModels)).rejects.toThrow(
      'The model kind of MisnamedModels has the invalid name "The Pantry".',
    );
  });
});
