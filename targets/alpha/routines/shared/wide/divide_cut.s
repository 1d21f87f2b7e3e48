        unop                        # 2**31 stays what it is
