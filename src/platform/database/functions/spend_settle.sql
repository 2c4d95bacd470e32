-- Replaces a reservation of a run by what its call has cost; NULL counts what was reserved. A reservation whose call was
-- never made costs nothing. The windows are locked in the order of `spend_take`.
CREATE OR REPLACE FUNCTION spend_settle(_reservation jsonb, _cost numeric) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  _amount numeric := (_reservation->>'amount')::numeric;
  _spent numeric := CASE WHEN _reservation->>'call' IS NULL THEN 0 ELSE coalesce(_cost, _amount) END;
  _window spend_windows;
  _usd numeric;
BEGIN
  FOR _window IN
    SELECT * FROM spend_windows WHERE id IN (SELECT jsonb_array_elements_text(_reservation->'windows')::bigint)
      ORDER BY scope, subject_id, period FOR UPDATE
  LOOP
    UPDATE spend_windows SET reserved = reserved - _amount, used = used + _spent WHERE id = _window.id
      RETURNING * INTO _window;
    IF NOT _window.is_warned THEN
      SELECT usd INTO _usd FROM spend_limits
        WHERE organization_id = _window.organization_id AND scope = _window.scope
          AND subject_id = _window.subject_id AND period = _window.period;
      IF _window.used >= 0.8 * _usd THEN
        UPDATE spend_windows SET is_warned = true WHERE id = _window.id;
        PERFORM webhook_spend_threshold(_window, _usd, false);
      END IF;
    END IF;
  END LOOP;
END
$$;
