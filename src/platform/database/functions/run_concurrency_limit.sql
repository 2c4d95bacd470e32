-- The lower of the organization's own limit and the operator's cap; null without either.
CREATE OR REPLACE FUNCTION run_concurrency_limit(_organization uuid, _cap integer) RETURNS integer
  LANGUAGE plpgsql STABLE AS $$
BEGIN
  RETURN least((SELECT (limits->>'concurrent_runs')::integer FROM organizations WHERE id = _organization), _cap);
END
$$;
