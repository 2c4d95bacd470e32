-- The models of tiers that have no price, by their path in a tier (`smart`, `smart.fallbacks[0]`).
CREATE OR REPLACE FUNCTION spend_unpriced(_organization uuid) RETURNS TABLE (tier text, path text)
  LANGUAGE sql STABLE AS $$
SELECT tier, tier || CASE n WHEN 1 THEN '' ELSE '.fallbacks[' || n - 2 || ']' END
  FROM (SELECT model_tiers.tier, price, row_number() OVER (PARTITION BY model_tiers.tier ORDER BY position) AS n
          FROM model_tiers WHERE organization_id = _organization) AS models
 WHERE price IS NULL ORDER BY tier, n
$$;
