-- Distributes the grants of a migrated database over the nodes of a Citus cluster. Run it once on the coordinator, after
-- citus_set_coordinator_host and citus_add_node, while no server runs.

-- Few rows, and joined with grants: every node gets a copy.
select create_reference_table('businesses');
select create_reference_table('users');
select create_reference_table('memberships');
select create_reference_table('apps');
select create_reference_table('stops');

-- Every token carries the id of its grant, so refreshing and checking touch one shard. All other tables stay on the coordinator.
select create_distributed_table('grants', 'id');
select create_distributed_table('revoked_access_tokens', 'grant_id', colocate_with => 'grants');

-- A deletion changes rows of several shards and of reference tables in one transaction, which Citus allows over one connection
-- per node only.
alter role current_user set citus.multi_shard_modify_mode = 'sequential';
