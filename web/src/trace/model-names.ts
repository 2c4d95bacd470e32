import { useCallback } from 'react';
import { useTool } from '../api/queries.js';
import { useOrganization } from '../session/organization.js';
import type { ModelCall } from './span.js';

/**
 * Names the models of a run's calls. Where they are of several providers, with the provider: a fallback is often the
 * same model of another one. The function returns null for a model that the run did not record.
 */
export function useModelNames(calls: readonly ModelCall[]): (call: ModelCall) => string | null {
  const { may } = useOrganization();
  const areMixed = new Set(calls.map(({ provider_id: id }) => id)).size > 1;
  const { data } = useTool('AI_PROVIDER_LIST', {}, { isEnabled: areMixed && may('AI_PROVIDER_LIST') });
  const providers = areMixed ? data?.items : undefined;
  return useCallback(
    ({ provider_id: id, model }) => {
      const provider = providers?.find((item) => item.id === id)?.title;
      return model !== null && provider ? `${model} at ${provider}` : model;
    },
    [providers],
  );
}
