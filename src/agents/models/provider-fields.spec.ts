import { describe, expect, it } from '@jest/globals';
import { fieldFaults, type FieldValues } from './provider-fields.js';

/** A kind of an extension. */
const VERTEX = {
  fields: {
    region: { isRequired: true, form: /^[a-z]+-[a-z]+\d$/, formRule: 'must be a region of Google Cloud' },
    api_version: { form: /^v\d$/ },
    access_key_id: {},
  },
};

function faultsOf(values: FieldValues, kind: Parameters<typeof fieldFaults>[1] = VERTEX): string[] {
  return fieldFaults('vertex', kind, { baseUrl: null, values }).map(({ path, message }) => `${path}: ${message}`);
}

describe('fieldFaults', () => {
  it('finds nothing wrong with the fields that a kind declares', () => {
    expect(faultsOf({ region: 'europe-west4' })).toEqual([]);
    expect(faultsOf({ region: 'europe-west4', api_version: 'v1', access_key_id: '***' })).toEqual([]);
  });

  it('names each field that is missing, has another form, or is not taken', () => {
    expect(faultsOf({})).toEqual(['data.region: A provider of kind vertex requires region.']);
    expect(faultsOf({ api_key: '***', region: 'eu-central-1', api_version: '2024' })).toEqual([
      'data.api_key: A provider of kind vertex takes no api_key. Leave it out, or send null to remove the stored one.',
      'data.api_version: api_version has an invalid form.',
      'data.region: region must be a region of Google Cloud.',
    ]);
  });

  it('knows only a key for a kind that declares nothing', () => {
    expect(faultsOf({ api_key: '***' }, {})).toEqual([]);
    expect(faultsOf({ region: 'eu' }, {})).toEqual([expect.stringContaining('takes no region')]);
  });

  it('demands an address of kinds without one', () => {
    expect(faultsOf({}, { needsBaseUrl: true })).toEqual([
      'data.base_url: A provider of kind vertex requires a base URL.',
    ]);
  });
});
