export {
  type ModelBehaviour as Behaviour,
  PROVIDER_SECRET,
  type ScriptedModel as FakeOpenAI,
  startScriptedModel as startFakeOpenAI,
} from '../../src/boot/testing/scripted-model.js';
