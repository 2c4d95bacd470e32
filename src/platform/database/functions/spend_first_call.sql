-- Reserves the first model call of a run that is being posted: its own messages, and all that its tier's first model can
-- answer. `_refusal` holds the code of what stands against it, with the details. `_reservation` is for the run; the call
-- itself reserves again, with all of its input. A tier that is not set falls back to `smart`, and then to the built-in
-- model, which costs nothing.
CREATE OR REPLACE FUNCTION spend_first_call(
  _organization uuid, _agent uuid, _api_key uuid, _user uuid, _tier text, _input_tokens integer,
  _output_tokens integer, OUT _reservation jsonb, OUT _refusal jsonb
) LANGUAGE plpgsql AS $$
DECLARE
  _amount numeric;
  _unpriced text;
  _windows bigint[];
BEGIN
  IF NOT EXISTS (SELECT FROM spend_limits_of(_organization, _agent, _api_key, _user)) THEN
    RETURN;
  END IF;
  SELECT ceil((_input_tokens * (price->>'input')::numeric
               + coalesce(max_output_tokens, _output_tokens) * (price->>'output')::numeric) * 10000) / 1e10,
         (SELECT path FROM spend_unpriced(_organization) WHERE tier = served.tier LIMIT 1)
    INTO _amount, _unpriced
    FROM model_tiers AS served
    WHERE organization_id = _organization AND tier IN (_tier, 'smart')
    ORDER BY tier = _tier DESC, position LIMIT 1;
  IF NOT FOUND THEN
    RETURN;
  ELSIF _unpriced IS NOT NULL THEN
    _refusal := jsonb_build_object('code', 'price_missing', 'path', _unpriced);
    RETURN;
  END IF;
  SELECT taken._windows, taken._refusal || '{"code": "spend_limit_reached"}' INTO _windows, _refusal
    FROM spend_take(_organization, _agent, _api_key, _user, _amount) AS taken;
  IF _refusal IS NULL THEN
    _reservation := jsonb_build_object('amount', _amount, 'windows', _windows);
  END IF;
END
$$;
