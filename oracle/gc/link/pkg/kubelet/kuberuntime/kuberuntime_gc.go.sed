s/time\.Now()/OracleNow()/
