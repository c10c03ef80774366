s/time\.Now()/OracleNow()/
s/time\.Since(/OracleSince(/
