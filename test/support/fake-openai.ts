export { type ModelBehaviour as Behaviour, PROVIDER_SECRET } from '../../src/boot/testing/model-server.js';
export {
  type ScriptedModel as FakeOpenAI,
  startScriptedModel as startFakeOpenAI,
} from '../../src/boot/testing/scripted-model.js';
