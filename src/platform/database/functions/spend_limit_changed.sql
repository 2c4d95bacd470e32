-- Forgets the windows of limits that are cleared or whose subject is deleted: what is spent without a limit is not
-- counted in them. A limit that is set later begins with what the runs of the window have cost. The argument is the
-- scope.
CREATE OR REPLACE FUNCTION spend_limit_changed() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  _kept jsonb;
BEGIN
  IF TG_OP = 'UPDATE' THEN
    _kept := CASE TG_ARGV[0] WHEN 'organization' THEN to_jsonb(NEW)->'limits'->'spend' ELSE to_jsonb(NEW)->'spend' END;
  END IF;
  -- In the order of `spend_take`.
  PERFORM FROM spend_windows WHERE scope = TG_ARGV[0] AND subject_id = OLD.id
    ORDER BY scope, subject_id, period, starts_at FOR UPDATE;
  DELETE FROM spend_windows
    WHERE scope = TG_ARGV[0] AND subject_id = OLD.id AND NOT coalesce(_kept ? ('usd_per_' || period), false)
      AND organization_id =
        CASE TG_ARGV[0] WHEN 'organization' THEN OLD.id ELSE (to_jsonb(OLD)->>'organization_id')::uuid END;
  RETURN NULL;
END
$$;

CREATE OR REPLACE TRIGGER organizations_spend AFTER UPDATE OF limits ON organizations FOR EACH ROW
  WHEN (OLD.limits ? 'spend')
  EXECUTE FUNCTION spend_limit_changed('organization');
CREATE OR REPLACE TRIGGER agents_spend AFTER UPDATE OF spend OR DELETE ON agents FOR EACH ROW
  WHEN (OLD.spend IS NOT NULL)
  EXECUTE FUNCTION spend_limit_changed('agent');
CREATE OR REPLACE TRIGGER api_keys_spend AFTER UPDATE OF spend OR DELETE ON api_keys FOR EACH ROW
  WHEN (OLD.spend IS NOT NULL)
  EXECUTE FUNCTION spend_limit_changed('key');
CREATE OR REPLACE TRIGGER members_spend AFTER UPDATE OF spend OR DELETE ON members FOR EACH ROW
  WHEN (OLD.spend IS NOT NULL)
  EXECUTE FUNCTION spend_limit_changed('person');
